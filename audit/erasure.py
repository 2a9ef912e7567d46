"""Erasing values: asked for by a person, done in batches, recorded, never over a hold (E6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from django.db import DatabaseError, transaction

from audit.erasing import all_consequences, erase_everywhere, erasers, settle_all
from audit.holds import held_decisions
from audit.models import DecisionRow, Erasure, ErasureState, Payload
from audit.selections import Selection, decisions_in, read_selection
from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority

log = structlog.get_logger(__name__)
AT_ONCE = 100
MOST_SEEN_AHEAD = 1000
MAX_REASON = 500


@dataclass(slots=True)
class Erased:
    """What one round achieved, and what stood in its way."""

    payloads: int = 0
    decisions: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)
    places: Counter[str] = field(default_factory=Counter)

    def add(self, other: Erased) -> None:
        """Count another batch in."""
        self.payloads += other.payloads
        self.decisions |= other.decisions
        self.held |= other.held
        self.running |= other.running
        self.places.update(other.places)


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What an erasure would do, as far as the first decisions show."""

    decisions: int
    payloads: int
    held: int
    consequences: dict[str, int]
    is_part: bool  # more decisions are covered than were looked at


def foresee(selection: Selection) -> Foreseen:
    """Look before: what would go, what a hold keeps, what else people should know."""
    tenant_id = selection.tenant_id
    rows = DecisionRow.objects.filter(selection.condition(), seq=1).order_by("record_id")
    found = list(rows.values_list("decision_id", flat=True)[: MOST_SEEN_AHEAD + 1])
    ids = found[:MOST_SEEN_AHEAD]
    held = held_decisions(tenant_id=tenant_id, decision_ids=ids)
    free = [decision_id for decision_id in ids if decision_id not in held]
    payloads = Payload.objects.filter(
        tenant_id=tenant_id, decision_id__in=free, sealed__isnull=False
    )
    return Foreseen(
        decisions=len(ids),
        payloads=len(payloads.values_list("pk", flat=True)),
        held=len(held),
        consequences=all_consequences(tenant_id, free),
        is_part=len(found) > MOST_SEEN_AHEAD,
    )


def request_erasure(*, selection: Selection, reason: str, actor: Actor) -> Erasure:
    """Ask for an erasure and carry out what can be; the rest waits and stays listed."""
    erasure = _asked(selection, reason, actor)
    return carry_out(erasure_id=erasure.pk, actor=actor)


@transaction.atomic
def _asked(selection: Selection, reason: str, actor: Actor) -> Erasure:
    require_authority(actor, selection.tenant_id)
    why = reason.strip()[:MAX_REASON]
    if not why:
        raise coded_error("erasure.reason_missing")
    if selection.is_open:
        raise coded_error("erasure.too_wide")
    moment = utcnow()
    # What happens after the request was not meant by it, however long it waits.
    bounded = replace(selection, until=min(selection.until or moment, moment))
    erasure = Erasure.objects.create(
        erasure_id=new_id("era"),
        tenant_id=selection.tenant_id,
        selection=bounded.as_document(),
        reason=why,
        asked_by=actor.id,
        asked_by_name=actor.display,
        created_at=moment,
    )
    _tell(erasure, "erasure.asked", actor, {"covers": erasure.selection})
    return erasure


def carry_out(*, erasure_id: str, actor: Actor) -> Erasure:
    """Erase what nothing stands in the way of; done once nothing is left."""
    erasure = Erasure.objects.get(pk=erasure_id)
    if erasure.state == ErasureState.DONE:
        return erasure
    selection = read_selection(erasure.tenant_id, erasure.selection)
    done, why = Erased(), {"erasure_id": erasure.pk}
    for batch in decisions_in(selection, at_once=AT_ONCE):
        done.add(
            erase_values(
                tenant_id=erasure.tenant_id,
                decision_ids=batch,
                actor=actor,
                reason=erasure.reason,
                why=why,
            )
        )
    if not done.held:
        _alongside(erasure, selection, actor)
    _settle(erasure, done, actor)
    return erasure


def erase_values(
    *,
    tenant_id: str,
    decision_ids: Sequence[str],
    actor: Actor,
    reason: str,
    why: dict[str, Any],
    only: Collection[str] = (),
    keep: Collection[str] = (),
) -> Erased:
    """One batch, in one transaction with its event; of all kinds, of some only, or all but some."""
    with transaction.atomic():
        held = held_decisions(tenant_id=tenant_id, decision_ids=decision_ids)
        free = [name for name in decision_ids if name not in held]
        running = settle_all(tenant_id, free, actor) if free else frozenset()
        free = [name for name in free if name not in running]
        gone = _emptied(tenant_id, free, only, keep)
        places = {} if only or not free else erase_everywhere(tenant_id, free)
        if gone or places:
            record_event(
                tenant_id=tenant_id,
                action="erasure.carried_out",
                actor=actor,
                subject_kind="erasure",
                subject_id=str(why.get("erasure_id") or why.get("record_class") or "values"),
                reason=reason,
                data={**why, "payloads": gone, "places": places},
            )
    touched = {str(row["decision_id"]) for row in gone}
    return Erased(len(gone), touched, set(held), set(running), Counter(places))


def _emptied(
    tenant_id: str, decision_ids: Sequence[str], only: Collection[str], keep: Collection[str]
) -> list[dict[str, Any]]:
    """Set the values to null; what is said of them is their commitments."""
    rows = Payload.objects.filter(
        tenant_id=tenant_id, decision_id__in=decision_ids, sealed__isnull=False
    )
    rows = rows.filter(kind__in=only) if only else rows.exclude(kind__in=keep)
    columns = rows.order_by("pk").values("payload_id", "decision_id", "kind", "commitment")
    named = [dict(row) for row in columns]
    wanted = [row["payload_id"] for row in named]
    Payload.objects.filter(pk__in=wanted).update(sealed=None, erased_at=utcnow())
    return named


def _alongside(erasure: Erasure, selection: Selection, actor: Actor) -> None:
    with transaction.atomic():
        found: Counter[str] = Counter()
        for eraser in erasers():
            found.update(eraser.erase_alongside(selection))
        places = {place: number for place, number in found.items() if number}
        if places:
            _tell(erasure, "erasure.carried_out", actor, {"payloads": [], "places": places})


@transaction.atomic
def _settle(erasure: Erasure, done: Erased, actor: Actor) -> None:
    waits = bool(done.held or done.running)
    erasure.decisions += len(done.decisions)
    erasure.payloads += done.payloads
    newly_held = len(done.held) and not erasure.held
    erasure.held, erasure.running = len(done.held), len(done.running)
    erasure.tried_at = utcnow()
    if not waits:
        erasure.state, erasure.done_at = ErasureState.DONE, erasure.tried_at
    erasure.save()
    if newly_held:
        _tell(erasure, "erasure.refused", actor, {"held": sorted(done.held)[:100]})


def refusal_of(erasure: Erasure) -> ContextOSError | None:
    """Why it is not done yet, as an error that a surface can answer with; None when it is done."""
    data = {"erasure_id": erasure.pk, "held": erasure.held, "running": erasure.running}
    if erasure.held:
        return coded_error("erasure.held", data=data)
    if erasure.running:
        return coded_error("erasure.call_running", data=data)
    return None


def carry_out_waiting(*, actor: Actor) -> int:
    """Try every waiting erasure again; how many are done now."""
    names = Erasure.objects.filter(state=ErasureState.WAITING).order_by("pk")
    waiting = list(names.values_list("pk", flat=True))
    return sum(_is_done(name, actor) for name in waiting)


def _is_done(erasure_id: str, actor: Actor) -> bool:
    """One that can't be carried out yet goes on waiting, and keeps no other from it."""
    try:
        return carry_out(erasure_id=erasure_id, actor=actor).state == ErasureState.DONE
    except (ContextOSError, DatabaseError):
        log.exception("erasure not carried out", erasure_id=erasure_id)
        return False


def _tell(erasure: Erasure, action: str, actor: Actor, data: dict[str, Any]) -> None:
    record_event(
        tenant_id=erasure.tenant_id,
        action=action,
        actor=actor,
        subject_kind="erasure",
        subject_id=erasure.pk,
        reason=erasure.reason,
        data={"erasure_id": erasure.pk, **data},
    )
