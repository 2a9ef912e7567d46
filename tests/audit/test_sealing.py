"""Sealing: whatever was written gets its place in the log, under a signed checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from audit import merkle, sealing
from audit.checkpoint_note import read_checkpoint, signer_of
from audit.decisions import record_decision
from audit.log import (
    consistency_proof,
    inclusion_proof,
    latest_checkpoint,
    log_indexes,
    root_at,
)
from audit.models import AuditEvent, Checkpoint, DecisionRow, LogHead, LogLeaf, LogNode
from audit.sealing import Witnessed, seal_batch, tenants_to_seal
from contextos.core.errors import ContextOSError
from contextos.core.signing import Ed25519Signer
from tests.audit.logs import SIGNER, TENANT, facts, seal_all, waiting, write_events, write_records

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


def leaves_of(tenant_id: str) -> list[bytes]:
    rows = LogLeaf.objects.filter(tenant_id=tenant_id).order_by("log_index")
    return [bytes(leaf) for leaf in rows.values_list("leaf_hash", flat=True)]


def test_records_and_events_become_leaves_with_gapless_places() -> None:
    written = {*write_records(3), *write_events(2)}
    (checkpoint,) = seal_all()
    assert log_indexes(tenant_id=TENANT, leaf_ids=written).keys() == written
    indexes = LogLeaf.objects.order_by("log_index").values_list("log_index", flat=True)
    assert list(indexes) == [0, 1, 2, 3, 4]
    hashes = [*DecisionRow.objects.values_list("leaf_hash", flat=True)]
    hashes += AuditEvent.objects.values_list("leaf_hash", flat=True)
    assert {bytes(each) for each in hashes} == set(leaves_of(TENANT))
    assert bytes(checkpoint.root_hash) == merkle.root_of(leaves_of(TENANT))
    assert not waiting()


def test_a_checkpoint_is_signed_and_names_its_log_size_and_root(settings: Any) -> None:
    settings.LOG_ORIGIN = "contextos.example:8443"
    write_records(2)
    seal_all()
    newest = latest_checkpoint(tenant_id=TENANT)
    assert newest is not None
    note = read_checkpoint(newest.text)
    assert (note.origin, note.tree_size) == (f"contextos.example:8443/log/{TENANT}", 2)
    assert note.root_hash == bytes(newest.root_hash) == merkle.root_of(leaves_of(TENANT))
    assert signer_of(note, [SIGNER.verification_key]) == SIGNER.verification_key
    assert signer_of(note, [Ed25519Signer.generate().verification_key]) is None


def test_a_log_keeps_the_name_it_began_with(settings: Any) -> None:
    write_records(1)
    seal_all()
    before = read_checkpoint(Checkpoint.objects.get().text).origin
    settings.LOG_ORIGIN = "moved.example"
    write_records(1)
    (after,) = seal_all()
    assert read_checkpoint(after.text).origin == before


@pytest.mark.proves("E1")
def test_a_leaf_written_by_a_clock_in_the_past_is_sealed_like_any_other() -> None:
    write_records(2)
    seal_all()
    late = record_decision(facts(created_at=datetime(2001, 1, 1, tzinfo=UTC)))
    sorts_first = DecisionRow.objects.get(pk=late)
    assert sorts_first.created_at.year == 2001
    seal_all()
    assert log_indexes(tenant_id=TENANT, leaf_ids=[late]) == {late: 2}


def test_an_id_that_sorts_before_sealed_ones_is_not_passed_over(monkeypatch: Any) -> None:
    write_records(2)
    seal_all()
    monkeypatch.setattr("audit.decisions.timed_id", lambda *_, **__: f"rec_{'0' * 26}")
    early = record_decision(facts())
    seal_all()
    assert log_indexes(tenant_id=TENANT, leaf_ids=[early]) == {early: 2}


def test_two_tenants_interleaved_have_logs_of_their_own() -> None:
    for _ in range(5):
        write_records(1, "tenant_one")
        write_records(2, "tenant_two")
        seal_all()
    for tenant_id, size in (("tenant_one", 5), ("tenant_two", 10)):
        own = DecisionRow.objects.filter(tenant_id=tenant_id)
        assert {bytes(row.leaf_hash) for row in own} == set(leaves_of(tenant_id))
        newest = latest_checkpoint(tenant_id=tenant_id)
        assert newest is not None
        assert newest.tree_size == size
        assert bytes(newest.root_hash) == merkle.root_of(leaves_of(tenant_id))
    assert log_indexes(tenant_id="tenant_two", leaf_ids=[own[0].pk]) != {}
    assert log_indexes(tenant_id="tenant_one", leaf_ids=[own[0].pk]) == {}


def test_a_sealer_killed_before_it_signs_leaves_everything_waiting(monkeypatch: Any) -> None:
    written = set(write_records(4))

    def killed(**_: Any) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as kill:
        kill.setattr(sealing, "sign_checkpoint", killed)
        with pytest.raises(KeyboardInterrupt), transaction.atomic():
            seal_batch(TENANT, signer=SIGNER, witnessed=Witnessed())
    assert waiting() == written
    assert not LogLeaf.objects.exists()
    seal_all()
    assert log_indexes(tenant_id=TENANT, leaf_ids=written).keys() == written


def test_every_proof_of_a_log_of_some_hundred_leaves_holds(monkeypatch: Any) -> None:
    monkeypatch.setitem(sealing.BATCH, "sqlite", 97)
    monkeypatch.setitem(sealing.BATCH, "postgresql", 97)
    monkeypatch.setattr(merkle, "FANOUT_BITS", 2)  # nodes over 4, 16, 64 and 256 leaves
    write_records(300)
    checkpoints = seal_all()
    leaves, sizes = leaves_of(TENANT), [each.tree_size for each in checkpoints]
    assert sizes == [97, 194, 291, 300]
    assert LogNode.objects.filter(level=4).count() == 1
    roots = {size: merkle.root_of(leaves[:size]) for size in sizes}
    for size in sizes:
        assert root_at(tenant_id=TENANT, size=size) == roots[size]
        for index in range(0, size, 13):
            proof = inclusion_proof(tenant_id=TENANT, index=index, size=size)
            assert merkle.verify_inclusion(
                leaf=leaves[index], index=index, size=size, proof=proof, root=roots[size]
            )
    for first in sizes:
        for second in sizes[sizes.index(first) :]:
            assert merkle.verify_consistency(
                first=first,
                second=second,
                proof=consistency_proof(tenant_id=TENANT, first=first, second=second),
                first_root=roots[first],
                second_root=roots[second],
            )


def test_a_proof_asks_few_statements(django_assert_max_num_queries: Any) -> None:
    write_records(300)
    seal_all()
    with django_assert_max_num_queries(3):
        inclusion_proof(tenant_id=TENANT, index=137, size=299)


@pytest.mark.parametrize(("index", "size"), [(-1, 2), (2, 2), (5, 2), (0, 0)])
def test_a_proof_of_what_can_not_be_is_refused(index: int, size: int) -> None:
    write_records(2)
    seal_all()
    with pytest.raises(ContextOSError) as refusal:
        inclusion_proof(tenant_id=TENANT, index=index, size=size)
    assert refusal.value.code == "log.range_invalid"


def test_a_proof_beyond_what_is_sealed_says_how_far_it_is() -> None:
    write_records(2)
    seal_all()
    write_records(1)
    asked: tuple[Callable[[], list[bytes]], ...] = (
        lambda: inclusion_proof(tenant_id=TENANT, index=2, size=3),
        lambda: consistency_proof(tenant_id=TENANT, first=2, second=3),
        lambda: consistency_proof(tenant_id="tenant_new", first=1, second=1),
    )
    for ask in asked:
        with pytest.raises(ContextOSError) as refusal:
            ask()
        assert refusal.value.code == "log.not_sealed"


# --- a database that is not believed -------------------------------------------------------------
def test_a_database_put_back_to_yesterday_is_not_sealed_on() -> None:
    known = Witnessed()
    write_records(3)
    seal_all(witnessed=known)
    LogHead.objects.update(tree_size=0, peaks=b"", root_hash=merkle.EMPTY_ROOT)
    write_records(1)
    with pytest.raises(ContextOSError) as refusal:
        seal_batch(TENANT, signer=SIGNER, witnessed=known)
    assert refusal.value.code == "log.rewritten"
    assert len(waiting()) == 1


def test_a_history_rewritten_with_its_head_is_not_sealed_on() -> None:
    known = Witnessed()
    write_records(3)
    seal_all(witnessed=known)
    forged = merkle.CompactTree()
    for leaf in [merkle.leaf_hash(b"another"), *leaves_of(TENANT)[1:]]:
        forged.append(leaf)
    LogHead.objects.update(peaks=b"".join(forged.peaks), root_hash=forged.root())
    write_records(1)
    with pytest.raises(ContextOSError) as refusal:
        seal_batch(TENANT, signer=SIGNER, witnessed=known)
    assert refusal.value.code == "log.rewritten"


def test_a_head_that_contradicts_itself_is_not_sealed_on() -> None:
    write_records(3)
    seal_all()
    LogHead.objects.update(tree_size=2)
    write_records(1)
    with pytest.raises(ContextOSError) as refusal:
        seal_batch(TENANT, signer=SIGNER, witnessed=Witnessed())
    assert refusal.value.code == "log.rewritten"


# --- keys ----------------------------------------------------------------------------------------
def test_a_new_key_signs_the_log_as_it_stands_at_once() -> None:
    write_records(2)
    seal_all()
    successor = Ed25519Signer.generate()
    assert tenants_to_seal(SIGNER) == []
    assert tenants_to_seal(successor) == [TENANT]
    (renewed,) = seal_all(successor)
    assert (renewed.tree_size, renewed.kid) == (2, successor.verification_key.kid)
    assert latest_checkpoint(tenant_id=TENANT) == renewed
    assert tenants_to_seal(successor) == []
