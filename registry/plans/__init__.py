"""Plan check: is this plan made of permitted, valid, well-ordered calls? Pure."""

from registry.plans.pack import PlanPack, read_pack
from registry.plans.types import CODES, PlanFinding, PlanVerdict
from registry.plans.verify import verify_plan

__all__ = ["CODES", "PlanFinding", "PlanPack", "PlanVerdict", "read_pack", "verify_plan"]
