"""What evidence references are worth today: current, overtaken, stale or broken (C18)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet, Subquery

from audit.models import Payload
from contextos.core.clock import utcnow
from gateway.hashes import house_key, keyed_hash
from gateway.idempotency import without_key
from gateway.models import Evidence
from registry.packs import ContextPack


class EvidenceState(StrEnum):
    """How far a reference can be relied on; the first that applies is said."""

    BROKEN = "broken"  # its value was erased or is not what its hash says
    SUPERSEDED = "superseded"  # the same question was asked again and answered
    STALE = "stale"  # past the time its manifest calls it fresh
    CURRENT = "current"


def mark_of(tenant_id: str, capability_id: str, args: Mapping[str, Any]) -> str:
    """Equal for the same question to the same capability; keyed, and erased with the arguments."""
    return keyed_hash(house_key("evidence"), [tenant_id, capability_id, without_key(args)])


def with_worth(rows: QuerySet[Evidence]) -> QuerySet[Evidence]:
    """Each row with `newer`, whether a later one answers the same question, and `kept`."""
    later = Evidence.objects.filter(
        tenant_id=OuterRef("tenant_id"), mark=OuterRef("mark"), pk__gt=OuterRef("pk")
    ).exclude(mark="")
    payload = Payload.objects.filter(pk=OuterRef("payload_id"), erased_at__isnull=True)
    return rows.annotate(newer=Exists(later), kept=Subquery(payload.values("commitment")[:1]))


def state_of(row: Any, now: datetime | None = None) -> EvidenceState:
    """The state of a row from `with_worth`."""
    if row.kept is None or (row.is_stored and row.kept != row.commitment):
        return EvidenceState.BROKEN
    if row.newer:
        return EvidenceState.SUPERSEDED
    if row.fresh_until is not None and row.fresh_until <= (now or utcnow()):
        return EvidenceState.STALE
    return EvidenceState.CURRENT


def evidence_inputs(tenant_id: str, wanted: Sequence[str], now: datetime) -> dict[str, list[str]]:
    """What policy may read: refs that resolve and are not broken, and what is wrong with others."""
    if not wanted:
        return {"refs": [], "keys": []}
    rows = with_worth(Evidence.objects.filter(tenant_id=tenant_id, pk__in=wanted))
    found = {row.pk: row for row in rows}
    states = {ref: state_of(row, now) for ref, row in found.items()}
    known = [ref for ref in wanted if ref in found]
    refs = [ref for ref in known if states[ref] is not EvidenceState.BROKEN]
    return {
        "refs": refs,
        "keys": sorted({key for ref in refs for key in found[ref].keys}),
        "sources": sorted({found[ref].capability_id for ref in refs}),
        **{
            state.value: [ref for ref in known if states[ref] is state]
            for state in (EvidenceState.BROKEN, EvidenceState.SUPERSEDED, EvidenceState.STALE)
        },
    }


def missing_for_decision(
    packs: Iterable[ContextPack], decision_key: str | None, evidence: Mapping[str, Any]
) -> tuple[str, ...]:
    """What the decision's spec in the run's packs asks for and the call does not bring.

    An item names a key that the evidence carries, or the capability it came from.
    """
    if decision_key is None:
        return ()
    brought = _names(evidence)
    asked = [
        item
        for pack in packs
        for spec in pack.decision_specs
        if _bare(spec.decision_key) == _bare(decision_key)
        for item in spec.required_evidence
    ]
    return tuple(item for item in dict.fromkeys(asked) if item not in brought)


def _names(evidence: Mapping[str, Any]) -> Collection[str]:
    sources = list(evidence.get("sources") or ())
    return {*(evidence.get("keys") or ()), *sources, *(s.partition(".")[2] for s in sources)}


def _bare(decision_key: str) -> str:
    return decision_key.removeprefix("decision.")
