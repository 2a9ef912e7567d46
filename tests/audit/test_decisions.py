"""DecisionRecords: their bytes, their tables, and that they only grow."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, InternalError, connection, transaction

from audit.decision_record import (
    OUTCOMES,
    TERMINAL,
    CapabilityFacts,
    DecisionFacts,
    DecisionStatus,
    canonical_text,
    derived_columns,
)
from audit.decisions import prepare_decision, record_decision, rows_of
from audit.models import DecisionBody, DecisionRow, UnsealedLeaf
from audit.partitions import ensure_partitions
from contextos.core import strict_json
from contextos.core.canonical import canonicalise, digest
from contextos.core.envelopes import PrincipalKind, PrincipalRef
from contextos.core.errors import ContextOSError
from contextos.core.ids import new_id

MOMENT = datetime(2026, 11, 16, 12, 0, 0, 123000, tzinfo=UTC)
CHAIN = (
    PrincipalRef(kind=PrincipalKind.USER, id="user_1", tenant_id="tenant_one", display="Sana"),
    PrincipalRef(kind=PrincipalKind.AGENT, id="agent_1", tenant_id="tenant_one"),
)


def _facts(**more: object) -> DecisionFacts:
    base = DecisionFacts(
        decision_id=new_id("dec"),
        seq=1,
        tenant_id="tenant_one",
        status=DecisionStatus.APPROVED,
        principal_chain=CHAIN,
        capability=CapabilityFacts(id="payments.lookup_transaction", mode_effective="read_only"),
        created_at=MOMENT,
        run_id="run_1",
        intent="support.refund",
    )
    return replace(base, **more)  # type: ignore[arg-type]


@pytest.mark.proves("E1")
def test_the_hash_covers_everything_but_itself() -> None:
    record = strict_json.loads_object(canonical_text(_facts()))
    stated = record.pop("record_hash")
    assert digest(record) == stated


def test_the_hash_stands_where_canonical_text_wants_it() -> None:
    text = canonical_text(_facts(error={"record_version": "x", "record_hash": "y", "z": "\u00e9"}))
    assert text.encode() == canonicalise(strict_json.loads_object(text))


@pytest.mark.django_db
def test_columns_say_what_the_stored_text_says() -> None:
    record_id = record_decision(_facts(error={"code": "args.schema"}))
    stored = strict_json.loads_object(DecisionBody.objects.get(record_id=record_id).text)
    row, columns = DecisionRow.objects.get(record_id=record_id), derived_columns(stored)
    assert {name: getattr(row, name) for name in columns} == columns


@pytest.mark.django_db
def test_a_record_that_could_not_be_read_back_is_not_written() -> None:
    deep: dict[str, object] = {}
    for _ in range(strict_json.MAX_DEPTH + 1):
        deep = {"deeper": deep}
    with pytest.raises(ContextOSError, match="nested"):
        record_decision(_facts(error=deep))
    assert not DecisionRow.objects.exists()


def test_every_member_is_always_there() -> None:
    bare = strict_json.loads_object(canonical_text(_facts()))
    full = strict_json.loads_object(
        canonical_text(_facts(error={"kind": "policy"}, approvals=[{"approval_id": "apr_1"}]))
    )
    assert bare.keys() == full.keys()


def test_the_same_facts_have_the_same_bytes() -> None:
    facts = _facts()
    assert canonical_text(facts) == canonical_text(facts)


def test_every_status_has_one_outcome_and_unknown_is_not_terminal() -> None:
    assert set(OUTCOMES) == set(DecisionStatus)
    assert DecisionStatus.UNKNOWN not in TERMINAL


@pytest.mark.django_db
def test_a_row_is_head_body_and_a_leaf_that_waits() -> None:
    facts = _facts()
    record_id = record_decision(facts)
    head = DecisionRow.objects.get(pk=record_id)
    text = DecisionBody.objects.get(pk=record_id).text
    assert bytes(head.leaf_hash) == hashlib.sha256(b"\x00" + text.encode()).digest()
    assert bytes(UnsealedLeaf.objects.get(pk=record_id).leaf_hash) == bytes(head.leaf_hash)
    assert (head.agent_id, head.user_id, head.created_at) == ("agent_1", "user_1", MOMENT)
    assert rows_of(tenant_id="tenant_one", decision_id=facts.decision_id)[0]["seq"] == 1


@pytest.mark.django_db
def test_another_tenant_finds_nothing() -> None:
    facts = _facts()
    record_decision(facts)
    assert rows_of(tenant_id="tenant_two", decision_id=facts.decision_id) == []


@pytest.mark.django_db
def test_a_decision_ends_once() -> None:
    facts = _facts(status=DecisionStatus.EXECUTED)
    record_decision(facts)
    with pytest.raises(IntegrityError), transaction.atomic():
        record_decision(replace(facts, seq=2, status=DecisionStatus.CANCELLED))


@pytest.mark.django_db
def test_an_unknown_outcome_can_be_settled_later() -> None:
    facts = _facts(status=DecisionStatus.UNKNOWN)
    record_decision(facts)
    record_decision(replace(facts, seq=2, status=DecisionStatus.EXECUTED))
    rows = rows_of(tenant_id="tenant_one", decision_id=facts.decision_id)
    assert [row["status"] for row in rows] == ["UNKNOWN", "EXECUTED"]


@pytest.mark.django_db
@pytest.mark.proves("E2")
@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE audit_decisionbody SET text = 'x'",
        "DELETE FROM audit_decisionbody",
        "UPDATE audit_decisionrow SET status = 'APPROVED'",
        "DELETE FROM audit_decisionrow",
    ],
)
def test_rows_cannot_be_changed_or_removed(attack: str) -> None:
    record_decision(_facts())
    refused = pytest.raises((IntegrityError, InternalError))
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(attack)


@pytest.mark.django_db
def test_bodies_lie_in_the_partition_of_their_month() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps one plain table")
    ensure_partitions(now=MOMENT)
    record_decision(_facts())
    with connection.cursor() as cursor:
        cursor.execute("SELECT tableoid::regclass::text FROM audit_decisionbody")
        assert cursor.fetchone() == ("audit_decisionbody_y2026m11",)
    assert ensure_partitions(now=MOMENT) == []


@pytest.mark.django_db
def test_a_row_of_a_month_nobody_prepared_is_kept() -> None:
    facts = _facts(created_at=datetime(2041, 1, 1, tzinfo=UTC))
    record_decision(facts)
    assert len(rows_of(tenant_id="tenant_one", decision_id=facts.decision_id)) == 1


def test_prepared_writes_depend_on_the_claim_they_are_told_of() -> None:
    assert {write.after for write in prepare_decision(_facts(), after="claim").writes} == {"claim"}
