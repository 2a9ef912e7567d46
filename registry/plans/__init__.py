"""Plan check: is this plan made of permitted, valid, well-ordered calls? Pure."""

from registry.plans.pack import PlanPack, read_pack
from registry.plans.types import CODES, PlanFinding, PlannedCall, PlanVerdict, PolicyAhead
from registry.plans.verify import verify_plan

__all__ = [
    "CODES",
    "PlanFinding",
    "PlanPack",
    "PlanVerdict",
    "PlannedCall",
    "PolicyAhead",
    "read_pack",
    "verify_plan",
]
