"""What is due goes, what is not due stays whoever asks, and the log is proved as before (E6)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction

from audit import merkle, purging
from audit.decision_record import DecisionStatus
from audit.decisions import record_decision
from audit.holds import place_hold
from audit.log import inclusion_proof, latest_checkpoint, log_indexes
from audit.models import (
    AuditEvent,
    DecisionBody,
    DecisionMention,
    DecisionRow,
    LogLeaf,
    Payload,
    Purge,
    PurgedLeaf,
    RecordClass,
    RetentionRule,
    UnsealedLeaf,
)
from audit.models.retention import DEFAULT_DAYS, FLOOR_DAYS
from audit.partitions import ensure_partitions, standing_partitions
from audit.purging import apply_retention
from audit.retention import set_retention, terms_of
from audit.selections import Selection
from audit.services import record_event
from audit.tombstones import leaves_hash, purge_faults, purged_leaves
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.identity.models import Tenant
from tests.audit.logs import facts, seal_all
from tests.audit.old_rows import ago, decision, event, value
from tests.factories import SYSTEM, make_member, make_user_token
from tests.putting_back import triggers_asleep
from tests.registry.api.calls import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]
GATE = "GATE_FINANCE_APPROVAL"


def _refused(statement: str, *values: Any) -> None:
    refused = pytest.raises((IntegrityError, InternalError))
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, list(values))


def _left() -> set[str]:
    return set(DecisionRow.objects.values_list("decision_id", flat=True))


def _texts() -> int:
    return len(DecisionBody.objects.values_list("record_id", flat=True))


def test_records_past_their_time_are_purged_and_younger_ones_stay(acme: Tenant) -> None:
    old, young = decision(acme.pk, days=366), decision(acme.pk, days=364)
    gated, very_old = (decision(acme.pk, days=d, gate=GATE) for d in (366, 2558))
    seal_all()
    done = apply_retention()
    assert _left() == {young, gated}
    assert _texts() == 4
    assert (done["record.other"], done["record.gated"]) == (2, 2)
    assert not Payload.objects.filter(decision_id__in=[old, very_old]).exists()
    assert DecisionMention.objects.filter(kind="gate").count() <= 1
    reader = Caller(make_user_token(make_member(acme, "operator"), acme).token)
    for path, status in ((old, 410), (young, 200), (f"{old}/proof", 410), ("dec_none", 404)):
        assert reader.get(f"decision-records/{path}").status_code == status, path
    assert apply_retention()["record.other"] == 0, "once is enough"


def test_values_past_their_time_are_erased_before_their_records_go(acme: Tenant) -> None:
    set_retention(
        tenant_id=acme.pk,
        record_class=RecordClass.OTHER_VALUE,
        days=FLOOR_DAYS,
        reason="Less is more.",
        actor=SYSTEM,
    )
    due, young = decision(acme.pk, days=185), decision(acme.pk, days=183)
    evidence = value(acme.pk, due, "evidence", ago(185))
    seal_all()
    assert apply_retention()["value.other"] == 2
    erased = Payload.objects.filter(sealed__isnull=True)
    assert set(erased.values_list("decision_id", flat=True)) == {due}
    assert Payload.objects.get(pk=evidence).sealed is not None, "evidence has a time of its own"
    assert _left() == {due, young}


def test_a_record_stays_as_long_as_the_evidence_that_came_of_it(acme: Tenant) -> None:
    kept, past = decision(acme.pk, days=400), decision(acme.pk, days=2600)
    for decision_id, days in ((kept, 400), (past, 2600)):
        value(acme.pk, decision_id, "evidence", ago(days))
    seal_all()
    apply_retention()
    assert _left() == {kept}, "seven years for evidence, though other records go after one"
    assert Payload.objects.filter(decision_id=kept, kind="evidence", sealed__isnull=False).exists()
    set_retention(
        tenant_id=acme.pk,
        record_class=RecordClass.EVIDENCE,
        days=365,
        reason="No longer than the records.",
        actor=SYSTEM,
    )
    apply_retention()
    assert _left() == set()
    assert not Payload.objects.filter(decision_id__in=[kept, past]).exists()


def test_a_purged_row_keeps_its_place_in_the_log_and_its_proof(acme: Tenant) -> None:
    old = decision(acme.pk, days=400)
    young = decision(acme.pk, days=1)
    seal_all()
    gone = dict(DecisionRow.objects.filter(decision_id=old).values_list("record_id", "leaf_hash"))
    kept = DecisionRow.objects.filter(decision_id=young)[0]
    before = list(LogLeaf.objects.values_list("log_index", "leaf_hash"))
    apply_retention()
    seal_all()
    after = dict(LogLeaf.objects.filter(log_index__lt=len(before)).values_list("pk", "leaf_hash"))
    assert len(after) == len(before)
    stones = purged_leaves(tenant_id=acme.pk, leaf_ids=gone)
    assert {name: bytes(row.leaf_hash) for name, row in stones.items()} == {
        name: bytes(leaf) for name, leaf in gone.items()
    }
    newest = latest_checkpoint(tenant_id=acme.pk)
    assert newest is not None
    for leaf_id, leaf in [*gone.items(), (kept.pk, kept.leaf_hash)]:
        index = log_indexes(tenant_id=acme.pk, leaf_ids=[leaf_id])[leaf_id]
        proof = inclusion_proof(tenant_id=acme.pk, index=index, size=newest.tree_size)
        assert merkle.verify_inclusion(
            leaf=bytes(leaf),
            index=index,
            size=newest.tree_size,
            proof=proof,
            root=bytes(newest.root_hash),
        )
    assert purge_faults(acme.pk) == []


def test_events_go_after_seven_years_but_those_that_explain_it_stay(acme: Tenant) -> None:
    old, young = event(acme.pk, days=2558), event(acme.pk, days=2556)
    rule = event(acme.pk, days=2558, action="retention.changed")
    seal_all()
    assert apply_retention()["event"] == 1
    left = set(AuditEvent.objects.values_list("pk", flat=True))
    assert old not in left
    assert {young, rule} <= left
    assert purge_faults(acme.pk) == []


def test_what_is_not_sealed_yet_or_has_not_ended_is_not_purged(acme: Tenant) -> None:
    decision(acme.pk, days=400)
    assert apply_retention()["record.other"] == 0
    open_one = facts(acme.pk, status=DecisionStatus.UNKNOWN, created_at=ago(400))
    record_decision(open_one)
    seal_all()
    assert apply_retention()["record.other"] == 2
    assert _left() == {open_one.decision_id}


# --- the floor -----------------------------------------------------------------------------------
def test_the_defaults_are_seven_years_for_gated_and_one_for_other(acme: Tenant) -> None:
    terms = terms_of(acme.pk)
    assert terms[RecordClass.GATED_RECORD].days == 2557
    assert terms[RecordClass.OTHER_RECORD].days == 365
    assert min(DEFAULT_DAYS.values()) >= FLOOR_DAYS


@pytest.mark.parametrize("days", [183, 1, 0, -5, 40_000])
def test_nobody_goes_under_the_floor(acme: Tenant, days: int) -> None:
    with pytest.raises(ContextOSError) as refused:
        set_retention(
            tenant_id=acme.pk,
            record_class=RecordClass.OTHER_RECORD,
            days=days,
            reason="Shorter.",
            actor=SYSTEM,
        )
    assert refused.value.code == "retention.under_floor"


def test_the_database_itself_refuses_a_rule_under_the_floor(acme: Tenant) -> None:
    columns = "tenant_id, record_class, version, days, reason, changed_by, changed_by_name"
    _refused(
        f"INSERT INTO audit_retentionrule ({columns}, created_at) "
        "VALUES (%s, 'record.other', 1, 183, 'x', 'x', 'x', '2026-01-01')",
        acme.pk,
    )


def test_a_change_is_a_new_version_with_an_event(acme: Tenant) -> None:
    how: dict[str, Any] = {"tenant_id": acme.pk, "record_class": RecordClass.EVENT}
    set_retention(**how, days=3000, reason="Longer.", actor=SYSTEM)
    set_retention(**how, days=2600, reason="Shorter again.", actor=SYSTEM)
    with pytest.raises(ContextOSError) as same:
        set_retention(**how, days=2600, reason="Again.", actor=SYSTEM)
    assert same.value.code == "retention.unchanged"
    versions = RetentionRule.objects.order_by("version").values_list("version", "days")
    assert list(versions) == [(1, 3000), (2, 2600)]
    assert AuditEvent.objects.filter(action="retention.changed").count() == 2
    _refused("UPDATE audit_retentionrule SET days = 9000")


# --- the door ------------------------------------------------------------------------------------
def _purge_by_hand(tenant_id: str, *, cutoff_days: float, record_class: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_purge (purge_id, tenant_id, record_class, days, rule_version, "
            "cutoff, leaves, leaves_hash, event_id, created_at) "
            "VALUES ('pur_x', %s, %s, 184, 0, %s, 1, 'sha256:0', 'aud_x', %s)",
            [tenant_id, record_class, _when(ago(cutoff_days)), _when(ago(0))],
        )


def _when(moment: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)


_STONE = (
    "INSERT INTO audit_purgedleaf "
    "(leaf_id, tenant_id, purge_id, decision_id, leaf_hash, created_at) "
    "SELECT record_id, tenant_id, 'pur_x', decision_id, leaf_hash, created_at "
    "FROM audit_decisionrow"
)


def test_a_row_without_a_tombstone_is_deleted_by_nobody(acme: Tenant) -> None:
    decision(acme.pk, days=4000)
    for table in ("audit_decisionrow", "audit_decisionbody", "audit_auditevent"):
        _refused(f"DELETE FROM {table}")


def test_no_tombstone_is_taken_for_what_is_not_due(acme: Tenant) -> None:
    decision(acme.pk, days=200)
    with pytest.raises((IntegrityError, InternalError)), transaction.atomic():
        _purge_by_hand(acme.pk, cutoff_days=190, record_class="record.other")
    decision(acme.pk, days=400)
    _purge_by_hand(acme.pk, cutoff_days=366, record_class="record.other")
    _refused(_STONE)  # one of the decisions is younger than the cutoff
    assert not PurgedLeaf.objects.exists()


def test_a_gated_decision_does_not_leave_as_another_kind(acme: Tenant) -> None:
    decision(acme.pk, days=400, gate=GATE)
    _purge_by_hand(acme.pk, cutoff_days=366, record_class="record.other")
    _refused(_STONE)


def test_a_tombstone_that_no_event_commits_to_is_found(acme: Tenant) -> None:
    decision(acme.pk, days=400)
    _purge_by_hand(acme.pk, cutoff_days=366, record_class="record.other")
    with connection.cursor() as cursor:
        cursor.execute(_STONE)
        cursor.execute("DELETE FROM audit_decisionrow")
    (fault,) = purge_faults(acme.pk)
    assert (fault.purge_id, fault.problem) == ("pur_x", "its event is missing")


def test_a_tombstone_added_to_a_real_purge_is_found(acme: Tenant) -> None:
    decision(acme.pk, days=400)
    seal_all()
    apply_retention()
    real = Purge.objects.get()
    decision(acme.pk, days=400)
    with connection.cursor() as cursor:
        cursor.execute(_STONE.replace("'pur_x'", "%s"), [real.pk])
    assert {fault.purge_id for fault in purge_faults(acme.pk)} == {real.pk}


def test_a_purge_made_up_for_a_young_row_is_found_although_its_event_agrees(acme: Tenant) -> None:
    decision(acme.pk, days=1)
    seal_all()
    rows = list(DecisionRow.objects.values_list("record_id", "leaf_hash"))
    said = {"purge_id": "pur_y", "record_class": "record.other", "days": 184, "rule": 0}
    counted = {"leaves": len(rows), "leaves_hash": leaves_hash(rows)}
    cutoff = utcnow()
    told = record_event(
        tenant_id=acme.pk,
        action="retention.purged",
        actor=SYSTEM,
        subject_kind="purge",
        subject_id="pur_y",
        data={**said, **counted, "cutoff": format_time(cutoff)},
    )
    with triggers_asleep(connection), connection.cursor() as cursor:
        Purge.objects.create(
            **{name: value for name, value in said.items() if name != "rule"},
            **counted,
            tenant_id=acme.pk,
            rule_version=0,
            cutoff=cutoff,
            event_id=told.pk,
            created_at=cutoff,
        )
        cursor.execute(_STONE.replace("pur_x", "pur_y"))
        cursor.execute("DELETE FROM audit_decisionrow")
    (fault,) = purge_faults(acme.pk)
    assert fault.problem == "it took rows younger than 184 days"


def test_one_tenant_s_fault_keeps_no_other_from_its_retention(
    acme: Tenant, globex: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, gone = decision(acme.pk, days=400), decision(globex.pk, days=400)
    seal_all()
    whole = purging.due_records

    def broken(tenant_id: str, *how: Any) -> Any:
        if tenant_id == acme.pk:
            raise coded_error("log.damaged")
        return whole(tenant_id, *how)

    monkeypatch.setattr(purging, "due_records", broken)
    apply_retention()
    assert kept in _left()
    assert gone not in _left()


@pytest.mark.parametrize(
    "table", ["audit_purge", "audit_purgedleaf", "audit_gateddecision", "audit_decisionmention"]
)
def test_what_a_purge_left_stays(acme: Tenant, table: str) -> None:
    decision(acme.pk, days=2600, gate=GATE)
    seal_all()
    apply_retention()
    decision(acme.pk, days=1, gate=GATE, approvals=[{"gate": GATE, "votes": []}])
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone()[0] > 0
    _refused(f"DELETE FROM {table}")


# --- holds ---------------------------------------------------------------------------------------
def test_nothing_under_a_hold_is_purged_or_erased_by_anybody(acme: Tenant) -> None:
    held, free = decision(acme.pk, days=400), decision(acme.pk, days=400)
    old_event = event(acme.pk, days=2600)
    place_hold(
        selection=Selection(tenant_id=acme.pk, decision_id=held),
        title="Matter 12",
        reason="Court order.",
        actor=SYSTEM,
    )
    seal_all()
    apply_retention()
    assert _left() == {held}
    assert free not in _left()
    assert Payload.objects.filter(decision_id=held, sealed__isnull=False).count() == 2
    assert AuditEvent.objects.filter(pk=old_event).exists(), "events around it are kept, too"
    _purge_by_hand(acme.pk, cutoff_days=366, record_class="record.other")
    _refused(_STONE)
    _refused("UPDATE audit_payload SET sealed = NULL, erased_at = created_at")
    _refused("DELETE FROM audit_payload")


def test_a_hold_of_one_tenant_keeps_nothing_of_another(acme: Tenant, globex: Tenant) -> None:
    mine, theirs = decision(acme.pk, days=400), decision(globex.pk, days=400)
    place_hold(selection=Selection(tenant_id=globex.pk), title="All", reason="Order.", actor=SYSTEM)
    seal_all()
    apply_retention()
    assert _left() == {theirs}
    assert mine not in _left()


# --- months on PostgreSQL ------------------------------------------------------------------------
def test_a_month_of_purged_texts_is_dropped_whole(acme: Tenant) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps one plain table")
    then = ago(400)
    ensure_partitions(now=then)
    month = f"audit_decisionbody_y{then:%Y}m{then:%m}"
    for _ in range(3):
        decision(acme.pk, days=400)
    kept = decision(acme.pk, days=600, gate=GATE)
    seal_all()
    apply_retention()
    assert month not in standing_partitions(connection)
    assert _left() == {kept}
    assert AuditEvent.objects.filter(
        action="retention.partition_dropped", subject_id=month
    ).exists()
    assert _texts() == 2


def test_a_month_with_something_to_keep_loses_only_the_purged_texts(acme: Tenant) -> None:
    then = ago(400)
    ensure_partitions(now=then)
    decision(acme.pk, days=400)
    kept = decision(acme.pk, days=400, gate=GATE)
    seal_all()
    apply_retention()
    assert _left() == {kept}
    assert _texts() == 2


def test_the_purge_says_what_it_did(acme: Tenant) -> None:
    decision(acme.pk, days=400)
    seal_all()
    apply_retention()
    told = AuditEvent.objects.get(action="retention.purged")
    purge = Purge.objects.get()
    assert (purge.leaves, purge.event_id, purge.record_class) == (2, told.pk, "record.other")
    assert purge.leaves_hash in told.text
    assert format_time(purge.cutoff) in told.text
    assert UnsealedLeaf.objects.filter(leaf_id=told.pk).exists(), "the event becomes a leaf"
