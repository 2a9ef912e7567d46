"""Writes that stand or fall together, on whichever database runs the suite."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import Payload, UnsealedLeaf
from audit.one_statement import Insert, Update, write_together
from contextos.core.clock import utcnow

pytestmark = pytest.mark.django_db


def _leaf(name: str, leaf_id: str, **more: Any) -> Insert:
    row = {
        "leaf_id": leaf_id,
        "tenant_id": "tenant_one",
        "leaf_hash": b"\x01" * 32,
        "created_at": utcnow(),
    }
    return Insert(name=name, table="audit_unsealedleaf", values=row, **more)


def _payload(name: str, payload_id: str, **more: Any) -> Insert:
    row = {
        "payload_id": payload_id,
        "tenant_id": "tenant_one",
        "decision_id": "",
        "kind": "args",
        "commitment": "sha256:" + "0" * 64,
        "sealed": b"x",
        "created_at": utcnow(),
    }
    return Insert(name=name, table="audit_payload", values=row, **more)


def test_all_writes_take_effect_and_are_named() -> None:
    assert write_together(_leaf("a", "l1"), _payload("b", "p1")) == {"a", "b"}
    assert UnsealedLeaf.objects.count() == Payload.objects.count() == 1


def test_a_lost_claim_stops_what_depends_on_it() -> None:
    write_together(_leaf("claim", "l1", unless_taken=["leaf_id"]))
    done = write_together(
        _leaf("claim", "l1", unless_taken=["leaf_id"]), _payload("call", "p1", after="claim")
    )
    assert done == frozenset()
    assert not Payload.objects.exists()


def test_a_won_claim_lets_the_others_through() -> None:
    done = write_together(
        _leaf("claim", "l1", unless_taken=["leaf_id"]), _payload("call", "p1", after="claim")
    )
    assert done == {"claim", "call"}


@pytest.mark.django_db(transaction=True)
def test_a_failing_write_undoes_the_ones_before_it() -> None:
    write_together(_payload("first", "p1"))
    with pytest.raises(IntegrityError):
        write_together(_leaf("a", "l1"), _payload("b", "p1"))
    assert not UnsealedLeaf.objects.exists()


def test_a_compare_and_set_that_misses_stops_the_rest() -> None:
    write_together(_payload("first", "p1"))
    stale = Update(
        name="move",
        table="audit_payload",
        values={"commitment": "sha256:" + "1" * 64},
        where={"payload_id": "p1", "tenant_id": "tenant_other"},
    )
    assert write_together(stale, _leaf("told", "l1", after="move")) == frozenset()
    assert not UnsealedLeaf.objects.exists()


def test_a_compare_and_set_that_hits_carries_the_rest() -> None:
    write_together(_payload("first", "p1"))
    move = Update(
        name="move",
        table="audit_payload",
        values={"commitment": "sha256:" + "1" * 64},
        where={"payload_id": "p1"},
    )
    assert write_together(move, _leaf("told", "l1", after="move")) == {"move", "told"}


def test_postgresql_needs_one_statement() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no writing WITH; it uses one transaction")
    with CaptureQueriesContext(
        connection,
    ) as captured:
        write_together(_leaf("a", "l1"), _payload("b", "p1", after="a"))
    assert len(captured) == 1


def test_writes_of_one_shape_keep_their_own_values_and_another_shape_its_own_text() -> None:
    write_together(_leaf("a", "l1"))
    write_together(_leaf("a", "l2"))
    write_together(_leaf("a", "l3", unless_taken=["leaf_id"]))
    assert write_together(_leaf("a", "l3", unless_taken=["leaf_id"])) == frozenset()
    with pytest.raises(IntegrityError), transaction.atomic():
        write_together(_leaf("a", "l3"))
    assert set(UnsealedLeaf.objects.values_list("leaf_id", flat=True)) == {"l1", "l2", "l3"}
