"""Why a call was refused, and what would allow it: one function per family of codes (pure)."""

from gateway.explaining import (
    approving,
    arguments,
    door,
    letting_in,
    limits,
    outcomes,
    policies,
    resolving,
    servers,
    working,
)
from gateway.explaining.table import explain, explained_codes
from gateway.explaining.types import (
    Explanation,
    Ref,
    Refused,
    RunFacts,
    SpokenPermission,
    Step,
    Today,
    Way,
)

__all__ = [
    "Explanation",
    "Ref",
    "Refused",
    "RunFacts",
    "SpokenPermission",
    "Step",
    "Today",
    "Way",
    "approving",
    "arguments",
    "door",
    "explain",
    "explained_codes",
    "letting_in",
    "limits",
    "outcomes",
    "policies",
    "resolving",
    "servers",
    "working",
]
