"""Following a tenant's log: what was sealed after a place, and what still waits for the sealer.

The order of the log is the one order in which nothing can turn up late: a row gets its index when
the sealer sees it committed. Whoever remembers an index has seen everything before it, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from audit.models import LogLeaf, UnsealedLeaf


@dataclass(frozen=True, slots=True)
class PlacedLeaf:
    """A row of the log by its place."""

    log_index: int
    leaf_id: str


@dataclass(frozen=True, slots=True)
class WaitingLeaf:
    """A row that has no place yet."""

    leaf_id: str
    created_at: datetime


def sealed_from(tenant_id: str, index: int, *, most: int) -> list[PlacedLeaf]:
    """The leaves at this place and after it, in order."""
    rows = LogLeaf.objects.filter(tenant_id=tenant_id, log_index__gte=index)
    columns = rows.order_by("log_index").values_list("log_index", "leaf_id")
    return [PlacedLeaf(place, leaf_id) for place, leaf_id in columns[:most]]


def waiting_leaves(tenant_id: str, *, most: int) -> list[WaitingLeaf]:
    """What the sealer has not taken up yet, the oldest first."""
    rows = UnsealedLeaf.objects.filter(tenant_id=tenant_id).order_by("leaf_id")
    return [WaitingLeaf(*values) for values in rows.values_list("leaf_id", "created_at")[:most]]
