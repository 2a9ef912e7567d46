"""Legal holds: placed by one person, released by two; nothing under one is erased or purged."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from audit.models import DecisionRow, LegalHold
from audit.selections import EXACT, Selection
from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority

MAX_WORDS = 1000


# --- what is held --------------------------------------------------------------------------------
def open_holds(tenant_id: str) -> QuerySet[LegalHold]:
    """The holds of a tenant that nobody has released."""
    return LegalHold.objects.filter(tenant_id=tenant_id, released_at__isnull=True)


def covering_a_row() -> QuerySet[LegalHold]:
    """Open holds over the head that the outer query looks at."""
    covers = Q(tenant_id=OuterRef("tenant_id"), released_at__isnull=True)
    for name in EXACT:
        covers &= Q(**{name: ""}) | Q(**{name: OuterRef(name)})
    covers &= Q(since__isnull=True) | Q(since__lte=OuterRef("created_at"))
    covers &= Q(until__isnull=True) | Q(until__gt=OuterRef("created_at"))
    return LegalHold.objects.filter(covers)


def holds_around(tenant_id: str) -> QuerySet[LegalHold]:
    """Open holds over the time at which the row of the outer query was made, whatever it is."""
    return open_holds(tenant_id).filter(
        Q(since__isnull=True) | Q(since__lte=OuterRef("created_at")),
        Q(until__isnull=True) | Q(until__gt=OuterRef("created_at")),
    )


def held_decisions(*, tenant_id: str, decision_ids: Iterable[str]) -> frozenset[str]:
    """Those of the decisions that a hold keeps: one row of a decision under it is enough."""
    wanted = list(decision_ids)
    if not wanted or not open_holds(tenant_id).exists():
        return frozenset()
    rows = DecisionRow.objects.filter(
        Exists(covering_a_row()), tenant_id=tenant_id, decision_id__in=wanted
    )
    return frozenset(rows.values_list("decision_id", flat=True))


def selection_of(hold: LegalHold) -> Selection:
    """What a hold covers, as a filter."""
    exact = {name: getattr(hold, name) for name in EXACT}
    return Selection(tenant_id=hold.tenant_id, **exact, since=hold.since, until=hold.until)


# --- placing and releasing -----------------------------------------------------------------------
@transaction.atomic
def place_hold(*, selection: Selection, title: str, reason: str, actor: Actor) -> LegalHold:
    """Hold what the filter covers, from now on and until two people release it."""
    require_authority(actor, selection.tenant_id)
    name, why = title.strip()[:200], reason.strip()[:MAX_WORDS]
    if not name or not why:
        raise coded_error("hold.reason_missing")
    if selection.since and selection.until and selection.since >= selection.until:
        raise coded_error("hold.period_empty")
    exact = {column: getattr(selection, column) for column in EXACT}
    hold = LegalHold.objects.create(
        hold_id=new_id("hold"),
        tenant_id=selection.tenant_id,
        title=name,
        reason=why,
        **exact,
        since=selection.since,
        until=selection.until,
        placed_by=actor.id,
        placed_by_name=actor.display,
        placed_at=utcnow(),
    )
    _tell(hold, "hold.placed", actor, why)
    return hold


@transaction.atomic
def propose_release(*, tenant_id: str, hold_id: str, reason: str, actor: Actor) -> LegalHold:
    """The first half of a release: somebody says why the hold is not needed any more."""
    hold = _open_hold(tenant_id, hold_id, actor)
    why = reason.strip()[:MAX_WORDS]
    if not why:
        raise coded_error("hold.reason_missing")
    if hold.proposed_at is not None:
        raise coded_error("hold.release_proposed", data={"by": hold.proposed_by_name})
    _change(
        hold,
        proposed_by=actor.id,
        proposed_by_name=actor.display,
        proposed_at=utcnow(),
        proposed_why=why,
    )
    _tell(hold, "hold.release_proposed", actor, why)
    return hold


@transaction.atomic
def withdraw_proposal(*, tenant_id: str, hold_id: str, reason: str, actor: Actor) -> LegalHold:
    """The release is not wanted after all; anybody who may release may say so."""
    hold = _open_hold(tenant_id, hold_id, actor)
    if hold.proposed_at is None:
        raise coded_error("hold.release_not_proposed")
    _change(hold, proposed_by="", proposed_by_name="", proposed_at=None, proposed_why="")
    _tell(hold, "hold.release_withdrawn", actor, reason.strip()[:MAX_WORDS])
    return hold


@transaction.atomic
def confirm_release(*, tenant_id: str, hold_id: str, actor: Actor) -> LegalHold:
    """The second half, by another person; what waited for it is erased and purged afterwards."""
    hold = _open_hold(tenant_id, hold_id, actor)
    if hold.proposed_at is None:
        raise coded_error("hold.release_not_proposed")
    if actor.kind != "user" or actor.id == hold.proposed_by:
        raise coded_error("hold.release_needs_two")
    _change(hold, released_by=actor.id, released_by_name=actor.display, released_at=utcnow())
    _tell(hold, "hold.released", actor, hold.proposed_why)
    return hold


def _open_hold(tenant_id: str, hold_id: str, actor: Actor) -> LegalHold:
    require_authority(actor, tenant_id)
    hold = LegalHold.objects.select_for_update().filter(pk=hold_id, tenant_id=tenant_id).first()
    if hold is None:
        raise coded_error("hold.unknown")
    if hold.released_at is not None:
        raise coded_error("hold.released_already")
    return hold


def _change(hold: LegalHold, **columns: object) -> None:
    """Compare-and-set on the proposal that was read: two people can't release at once by halves."""
    rows = LegalHold.objects.filter(
        pk=hold.pk, released_at__isnull=True, proposed_at=hold.proposed_at
    )
    if not rows.update(**columns):
        raise coded_error("hold.just_changed")
    hold.refresh_from_db()


def _tell(hold: LegalHold, action: str, actor: Actor, reason: str) -> None:
    record_event(
        tenant_id=hold.tenant_id,
        action=action,
        actor=actor,
        subject_kind="legal_hold",
        subject_id=hold.pk,
        reason=reason,
        data={
            "title": hold.title,
            "covers": selection_of(hold).as_document(),
            "proposed_by": hold.proposed_by,
        },
    )
