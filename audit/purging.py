"""The nightly purge: what is due leaves through one door, and the log can still be proved (E6).

Rows go in batches. In one transaction with its event a batch gets its tombstones, then the rows are
deleted; triggers take a tombstone only for a row that is due and not held (ADR 0015).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import structlog
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from audit.decision_record import TERMINAL
from audit.erasing import AT_ONCE, erase_everywhere, erasers
from audit.erasure import erase_values
from audit.holds import covering_a_row, holds_around
from audit.models import (
    AuditEvent,
    DecisionBody,
    DecisionMention,
    DecisionRow,
    GatedDecision,
    Payload,
    Purge,
    PurgedLeaf,
    RecordClass,
    UnsealedLeaf,
)
from audit.partitions import SAFETY_NET, clear_month, drop_month, months_past_floor
from audit.payloads import SALT_OF
from audit.retention import Terms, terms_of
from audit.services import record_event
from audit.tombstones import ACTION, leaves_hash
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError
from contextos.core.events import PLATFORM_TENANT, automation
from contextos.core.ids import new_id
from contextos.identity.models import Tenant

log = structlog.get_logger(__name__)
ACTOR = automation("retention")
EVIDENCE = ("evidence", f"{SALT_OF}evidence")
# What explains a purge, an erasure or a hold outlives all of them.
KEPT_FOR_GOOD = ("retention.", "erasure.", "hold.")
_VALUES = (RecordClass.GATED_VALUE, RecordClass.OTHER_VALUE, RecordClass.EVIDENCE)
_RECORDS = (RecordClass.GATED_RECORD, RecordClass.OTHER_RECORD)
Leaf = tuple[str, str, bytes | memoryview, datetime]  # leaf id, decision id, leaf hash, when


def apply_retention(now: datetime | None = None) -> dict[str, int]:
    """Erase and purge whatever is due in every tenant; what was done, by class."""
    moment, done = now or utcnow(), dict.fromkeys(map(str, RecordClass), 0)
    for tenant_id in [*Tenant.objects.values_list("pk", flat=True), PLATFORM_TENANT]:
        terms = terms_of(tenant_id)
        for name, apply in _STEPS:
            # What can't be done for one class of one tenant stays due, and keeps nobody else's.
            try:
                done[name] += apply(tenant_id, terms[name], moment)
            except (ContextOSError, DatabaseError):
                log.exception("retention not applied", tenant_id=tenant_id, record_class=str(name))
    for month in months_past_floor(utcnow()):
        try:
            _drop_month(month)
        except OperationalError:  # readers hold the table: tomorrow is early enough
            log.warning("partition in use, not dropped", partition=month)
    return done


def _drop_month(month: str) -> None:
    """On PostgreSQL the texts of whole months go at once, each with an event of its own."""
    with transaction.atomic():
        if clear_month(month) and month != SAFETY_NET:
            drop_month(month)
            record_event(
                tenant_id=PLATFORM_TENANT,
                action="retention.partition_dropped",
                actor=ACTOR,
                subject_kind="partition",
                subject_id=month,
            )


# --- values --------------------------------------------------------------------------------------
def erase_due(tenant_id: str, terms: Terms, now: datetime) -> int:
    """Erase the values of a class whose time is over; how many."""
    is_evidence = terms.record_class is RecordClass.EVIDENCE
    why = {"record_class": terms.record_class.value, "days": terms.days, "rule": terms.version}
    done = 0
    for batch in _decisions_with_values(tenant_id, terms, now):
        erased = erase_values(
            tenant_id=tenant_id,
            decision_ids=batch,
            actor=ACTOR,
            reason="Its time of retention is over.",
            why=why,
            only=EVIDENCE if is_evidence else (),
            keep=() if is_evidence else EVIDENCE,
        )
        done += erased.payloads
    return done


def _decisions_with_values(tenant_id: str, terms: Terms, now: datetime) -> Iterator[list[str]]:
    rows = Payload.objects.filter(
        tenant_id=tenant_id, sealed__isnull=False, created_at__lt=terms.cutoff(now)
    ).exclude(decision_id="")
    if terms.record_class is RecordClass.EVIDENCE:
        rows = rows.filter(kind__in=EVIDENCE)
    else:
        rows = rows.exclude(kind__in=EVIDENCE).filter(_of_class(terms.record_class))
    last = ""
    while True:
        page = list(
            rows.filter(payload_id__gt=last)
            .order_by("payload_id")
            .values_list("payload_id", "decision_id")[:AT_ONCE]
        )
        if not page:
            return
        last = page[-1][0]
        yield list(dict.fromkeys(decision_id for _, decision_id in page))


def _of_class(record_class: RecordClass) -> Exists | Q:
    gated = Exists(GatedDecision.objects.filter(pk=OuterRef("decision_id")))
    is_gated = record_class in (RecordClass.GATED_RECORD, RecordClass.GATED_VALUE)
    return gated if is_gated else ~Q(gated)


# --- records -------------------------------------------------------------------------------------
def due_records(tenant_id: str, terms: Terms, now: datetime) -> QuerySet[DecisionRow]:
    """First rows of decisions that have ended, wholly before the cutoff, sealed and not held.

    Evidence has a time of its own, and without the record it came from it would show nothing: as
    long as some is kept, the record stays with it."""
    of_decision = DecisionRow.objects.filter(decision_id=OuterRef("decision_id"))
    evidence = Payload.objects.filter(
        decision_id=OuterRef("decision_id"), kind__in=EVIDENCE, sealed__isnull=False
    )
    unsealed = UnsealedLeaf.objects.filter(leaf_id=OuterRef("record_id"))
    cutoff = terms.cutoff(now)
    return DecisionRow.objects.filter(
        _of_class(terms.record_class),
        Exists(of_decision.filter(status__in=[status.value for status in TERMINAL])),
        ~Exists(of_decision.filter(created_at__gte=cutoff)),
        ~Exists(of_decision.filter(Exists(unsealed))),
        ~Exists(of_decision.filter(Exists(covering_a_row()))),
        ~Exists(evidence),
        tenant_id=tenant_id,
        seq=1,
        created_at__lt=cutoff,
    ).order_by("record_id")


def purge_records(tenant_id: str, terms: Terms, now: datetime) -> int:
    """Purge the records of a class whose time is over; how many rows."""
    done, last = 0, ""
    while True:
        with transaction.atomic():
            # From where the batch before ended: what has to stay is walked past only once.
            due = due_records(tenant_id, terms, now).filter(record_id__gt=last)
            page = list(due.values_list("record_id", "decision_id")[:AT_ONCE])
            if not page:
                return done
            last = page[-1][0]
            decision_ids = [decision_id for _, decision_id in page]
            done += _purge_decisions(tenant_id, decision_ids, terms, now)


def _purge_decisions(
    tenant_id: str, decision_ids: Sequence[str], terms: Terms, now: datetime
) -> int:
    heads = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id__in=decision_ids)
    leaves: list[Leaf] = list(
        heads.order_by("record_id").values_list(
            "record_id", "decision_id", "leaf_hash", "created_at"
        )
    )
    _bury(tenant_id, leaves, terms, now)
    erase_everywhere(tenant_id, decision_ids)
    for eraser in erasers():
        eraser.forget(tenant_id, decision_ids)
    names = [leaf[0] for leaf in leaves]
    Payload.objects.filter(tenant_id=tenant_id, decision_id__in=decision_ids).delete()
    if connection.vendor != "postgresql":  # there whole months are dropped afterwards
        DecisionBody.objects.filter(record_id__in=names).delete()
    DecisionMention.objects.filter(tenant_id=tenant_id, record_id__in=names)._raw_delete("default")
    DecisionRow.objects.filter(record_id__in=names).delete()
    return len(leaves)


# --- events --------------------------------------------------------------------------------------
def due_events(tenant_id: str, terms: Terms, now: datetime) -> QuerySet[AuditEvent]:
    """Sealed events before the cutoff; a hold keeps all events of its time."""
    kept = Q()
    for prefix in KEPT_FOR_GOOD:
        kept |= Q(action__startswith=prefix)
    return AuditEvent.objects.filter(
        ~kept,
        ~Exists(UnsealedLeaf.objects.filter(leaf_id=OuterRef("event_id"))),
        ~Exists(holds_around(tenant_id)),
        tenant_id=tenant_id,
        created_at__lt=terms.cutoff(now),
    ).order_by("event_id")


def purge_events(tenant_id: str, terms: Terms, now: datetime) -> int:
    """Purge events whose time is over, and what apps keep as long as them; how many events."""
    _let_go(tenant_id, terms, now)
    done, last = 0, ""
    while True:
        with transaction.atomic():
            due = due_events(tenant_id, terms, now).filter(event_id__gt=last)
            columns = due.values_list("event_id", "leaf_hash", "created_at")[:AT_ONCE]
            leaves: list[Leaf] = [(name, "", leaf, at) for name, leaf, at in columns]
            if not leaves:
                return done
            last = leaves[-1][0]
            _bury(tenant_id, leaves, terms, now)
            AuditEvent.objects.filter(pk__in=[leaf[0] for leaf in leaves]).delete()
            done += len(leaves)


def _let_go(tenant_id: str, terms: Terms, now: datetime) -> None:
    """In batches, each with its event, until no app has anything left."""
    cutoff = terms.cutoff(now)
    while True:
        with transaction.atomic():
            gone: Counter[str] = Counter()
            for eraser in erasers():
                gone.update(eraser.let_go(tenant_id, cutoff))
            places = {place: number for place, number in gone.items() if number}
            if not places:
                return
            record_event(
                tenant_id=tenant_id,
                action="retention.let_go",
                actor=ACTOR,
                subject_kind="retention",
                subject_id=terms.record_class.value,
                data={
                    "days": terms.days,
                    "rule": terms.version,
                    "cutoff": format_time(cutoff),
                    "places": places,
                },
            )


# --- the door ------------------------------------------------------------------------------------
def _bury(tenant_id: str, leaves: Sequence[Leaf], terms: Terms, now: datetime) -> Purge:
    """The event, the purge and a tombstone for every row; without them nothing can be deleted."""
    purge_id, cutoff = new_id("pur"), terms.cutoff(now)
    hashed = leaves_hash((name, leaf) for name, _, leaf, _ in leaves)
    event = record_event(
        tenant_id=tenant_id,
        action=ACTION,
        actor=ACTOR,
        subject_kind="purge",
        subject_id=purge_id,
        data={
            "purge_id": purge_id,
            "record_class": terms.record_class.value,
            "days": terms.days,
            "rule": terms.version,
            "cutoff": format_time(cutoff),
            "leaves": len(leaves),
            "leaves_hash": hashed,
        },
    )
    purge = Purge.objects.create(
        purge_id=purge_id,
        tenant_id=tenant_id,
        record_class=terms.record_class,
        days=terms.days,
        rule_version=terms.version,
        cutoff=cutoff,
        leaves=len(leaves),
        leaves_hash=hashed,
        event_id=event.pk,
        created_at=utcnow(),
    )
    PurgedLeaf.objects.bulk_create(
        PurgedLeaf(
            leaf_id=name,
            tenant_id=tenant_id,
            purge_id=purge_id,
            decision_id=decision_id,
            leaf_hash=leaf,
            created_at=at,
        )
        for name, decision_id, leaf, at in leaves
    )
    return purge


_STEPS: tuple[tuple[RecordClass, Callable[[str, Terms, datetime], int]], ...] = (
    *((name, erase_due) for name in _VALUES),
    *((name, purge_records) for name in _RECORDS),
    (RecordClass.EVENT, purge_events),
)
