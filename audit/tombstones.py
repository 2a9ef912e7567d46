"""Tombstones of purged rows: what was purged under which event, and whether that can be believed.

A purge's event is a leaf of the log. It commits to every tombstone of the purge, so that one made
up for a row that somebody deleted, or one taken away, is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from audit.models import AuditEvent, Purge, PurgedLeaf
from audit.models.retention import FLOOR_DAYS
from audit.selectors import told_by, verify_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, coded_error

ACTION = "retention.purged"
_CLOCKS_DIFFER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class PurgeFault:
    """One purge that does not agree with its tombstones or with its event."""

    purge_id: str
    problem: str


def leaves_hash(leaves: Iterable[tuple[str, bytes | memoryview]]) -> str:
    """`sha256:<hex>` over `leaf id, space, leaf hash in hex, newline` of each leaf, by leaf id."""
    spelt = sorted((leaf_id, bytes(leaf).hex()) for leaf_id, leaf in leaves)
    lines = (f"{leaf_id} {leaf}\n" for leaf_id, leaf in spelt)
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


def purged_leaves(*, tenant_id: str, leaf_ids: Iterable[str]) -> dict[str, PurgedLeaf]:
    """Leaf id -> its tombstone, for those rows that were purged under retention."""
    rows = PurgedLeaf.objects.filter(tenant_id=tenant_id, leaf_id__in=list(leaf_ids))
    return {row.leaf_id: row for row in rows}


def absence_of(*, tenant_id: str, decision_id: str) -> ContextOSError:
    """Why a decision has no record here: it was purged in its time, or never was one."""
    stones = PurgedLeaf.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    return coded_error("record.purged" if stones.exists() else "records.unknown")


def purge_faults(tenant_id: str) -> list[PurgeFault]:
    """Every purge of a tenant whose tombstones are not those that its event commits to."""
    purges = Purge.objects.filter(tenant_id=tenant_id).order_by("purge_id")
    found = [fault for purge in purges.iterator() for fault in _faults(purge)]
    known = Purge.objects.filter(tenant_id=tenant_id).values("purge_id")
    stray = PurgedLeaf.objects.filter(tenant_id=tenant_id).exclude(purge_id__in=known)
    orphans = sorted(set(stray.values_list("purge_id", flat=True)[:100]))
    return found + [PurgeFault(name, "tombstones of a purge that is not there") for name in orphans]


def _faults(purge: Purge) -> list[PurgeFault]:
    event = AuditEvent.objects.filter(pk=purge.event_id, tenant_id=purge.tenant_id).first()
    if event is None or event.action != ACTION:
        return [PurgeFault(purge.pk, "its event is missing")]
    if verify_event(event):
        return [PurgeFault(purge.pk, "its event was changed")]
    said = told_by(event).data
    stones = PurgedLeaf.objects.filter(purge_id=purge.pk, tenant_id=purge.tenant_id)
    leaves = list(stones.values_list("leaf_id", "leaf_hash"))
    stated = {
        "purge_id": purge.pk,
        "record_class": purge.record_class,
        "days": purge.days,
        "cutoff": format_time(purge.cutoff),
        "leaves": len(leaves),
        "leaves_hash": leaves_hash(leaves),
    }
    problems = [
        f"{name} is {value}, its event says {said.get(name)}"
        for name, value in stated.items()
        if said.get(name) != value
    ]
    if event.created_at > utcnow() + _CLOCKS_DIFFER:
        problems.append("its event lies in the future")
    if purge.cutoff > event.created_at - timedelta(days=FLOOR_DAYS) + _CLOCKS_DIFFER:
        problems.append(f"it took rows younger than {FLOOR_DAYS} days")
    if stones.filter(created_at__gte=purge.cutoff).exists():
        problems.append("it took rows that were not due")
    return [PurgeFault(purge.pk, problem) for problem in problems]
