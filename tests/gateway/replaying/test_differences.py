"""What a replay finds where something was changed, erased or lost: typed and named (E4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from audit.decision_record import derived_columns
from audit.decisions import rows_of
from audit.erasure import carry_out, request_erasure
from audit.event_record import hashed_text, leaf_hash
from audit.models import Artefact, DecisionBody, DecisionRow, Payload
from audit.one_statement import write_together
from audit.payloads import open_row, seal_payload
from audit.selections import Selection
from contextos.core.clock import utcnow
from gateway.models import Evidence, ToolCall
from gateway.replaying.findings import ReplayResult
from tests.gateway.replaying.story import StoryWorld
from tests.putting_back import triggers_asleep

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]


def _kinds(result: ReplayResult) -> tuple[str, set[str]]:
    return result.status.value, {diff.type.value for diff in result.diffs}


def _paths(result: ReplayResult) -> set[str]:
    return {diff.path for diff in result.diffs}


def _rewrite(
    world: StoryWorld, name: str, at: int, change: Callable[[dict[str, Any]], None]
) -> None:
    """As a forger would who knows our hashes: text, record_hash, leaf and columns all fit."""
    record = rows_of(tenant_id=world.tenant_id, decision_id=world.decisions[name])[at]
    record.pop("record_hash")
    change(record)
    text = hashed_text(record)
    head = DecisionRow.objects.get(decision_id=world.decisions[name], seq=at + 1)
    with triggers_asleep(connection):
        DecisionBody.objects.filter(pk=head.pk).update(text=text)
        DecisionRow.objects.filter(pk=head.pk).update(
            leaf_hash=leaf_hash(text), **derived_columns(record)
        )


def _reseal(world: StoryWorld, name: str, kind: str, change: Callable[[Any], Any]) -> None:
    """Another value in the place of the stored one, with a commitment of its own that fits."""
    row = Payload.objects.filter(decision_id=world.decisions[name], kind=kind).get()
    value = change(open_row(row))
    sealed = seal_payload(
        tenant_id=world.tenant_id, decision_id=row.decision_id, kind=kind, value=value
    )
    row.delete()
    write_together(sealed.write)


# --- the record ----------------------------------------------------------------------------------
def test_a_changed_text_is_tampering(world: StoryWorld) -> None:
    head = DecisionRow.objects.get(decision_id=world.decisions["read"], seq=2)
    body = DecisionBody.objects.get(pk=head.pk)
    with triggers_asleep(connection):
        DecisionBody.objects.filter(pk=head.pk).update(text=body.text.replace("EXECUTED", "FAILED"))
    result = world.replayed("read")
    assert _kinds(result) == ("invalid", {"tamper"})
    assert {"/rows/1/record_hash", "/rows/1/leaf_hash"} <= _paths(result)


def test_a_changed_column_is_tampering(world: StoryWorld) -> None:
    with triggers_asleep(connection):
        DecisionRow.objects.filter(decision_id=world.decisions["read"], seq=1).update(
            agent_id="somebody_else"
        )
    result = world.replayed("read")
    assert _kinds(result) == ("invalid", {"tamper"})
    assert _paths(result) == {"/rows/0/columns/agent_id"}


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_row_that_is_gone_is_tampering(world: StoryWorld, seq: int) -> None:
    with triggers_asleep(connection):
        DecisionRow.objects.filter(decision_id=world.decisions["approved"], seq=seq).delete()
    result = world.replayed("approved")
    if seq == 3:  # the row that ended it: what is left is a decision that waits
        assert result.status.value == "replay_equal"
        return
    assert _kinds(result) == ("invalid", {"tamper"})


def test_a_text_that_is_gone_or_unreadable_is_tampering(world: StoryWorld) -> None:
    head = DecisionRow.objects.get(decision_id=world.decisions["read"], seq=1)
    for text in ("{", "[]", "{}", '{"a":1,"a":1}'):
        with triggers_asleep(connection):
            DecisionBody.objects.filter(pk=head.pk).update(text=text)
        assert _kinds(world.replayed("read")) == ("invalid", {"tamper"}), text
    with triggers_asleep(connection):
        DecisionBody.objects.filter(pk=head.pk).delete()
    assert _kinds(world.replayed("read")) == ("invalid", {"tamper"})


# --- a forger who knows how hashes are made ------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "at", "change", "kind", "path"),
    [
        (
            "read",
            1,
            lambda row: row.update(scorecard={"verdict": "escalate", "findings": []}),
            "score",
            "/rows/1/scorecard",
        ),
        ("read", 1, lambda row: row.update(evidence_refs=[]), "evidence", "/evidence"),
        (
            "read",
            1,
            lambda row: row.update(tool_result_hash="sha256:" + "0" * 64),
            "transcript",
            "/rows/1/tool_result_hash",
        ),
        ("written", 1, lambda row: row.update(cost_cents=0), "transcript", "/rows/1/cost_cents"),
        (
            "mode refused",
            0,
            lambda row: row["policy_decision"].update(reason="policy.denied_by_rule: No."),
            "policy",
            "/rows/0/policy_decision/reason",
        ),
        (
            "mode refused",
            0,
            lambda row: row["policy_decision"].update(inputs_hash="sha256:" + "0" * 64),
            "policy",
            "/rows/0/policy_decision/inputs_hash",
        ),
        (
            "arguments refused",
            0,
            lambda row: row["error"].update(code="args.constraint"),
            "manifest",
            "/capability",
        ),
        (
            "mode refused",
            0,
            lambda row: row.update(decision_key="refund.approve"),
            "manifest",
            "/rows/0/decision_key",
        ),
    ],
)
def test_a_forged_member_is_found_and_typed(
    world: StoryWorld, name: str, at: int, change: Any, kind: str, path: str
) -> None:
    _rewrite(world, name, at, change)
    result = world.replayed(name)
    assert result.status.value == "replay_mismatch"
    assert kind in {diff.type.value for diff in result.diffs}
    assert any(found.startswith(path) for found in _paths(result)), _paths(result)
    assert all(diff.message.endswith(".") for diff in result.diffs)


def test_votes_on_another_digest_are_found(world: StoryWorld) -> None:
    def swap(row: dict[str, Any]) -> None:
        row["approvals"][0]["votes"][0]["digest"] = "sha256:" + "0" * 64

    _rewrite(world, "approved", 1, swap)
    _rewrite(world, "approved", 2, swap)
    result = world.replayed("approved")
    assert "/rows/1/approvals/votes/0/digest" in _paths(result)
    assert _kinds(result) == ("replay_mismatch", {"policy"})


def test_an_approval_by_the_caller_alone_is_found(world: StoryWorld) -> None:
    def swap(row: dict[str, Any]) -> None:
        row["approvals"][0]["votes"][0]["approver"] = row["principal_chain"][-1]["id"]

    _rewrite(world, "approved", 1, swap)
    _rewrite(world, "approved", 2, swap)
    assert "/rows/1/approvals/votes" in _paths(world.replayed("approved"))


# --- the values ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["args", "inputs", "output", "transcript", "evidence"])
def test_an_erased_value_makes_the_replay_invalid_and_says_so(world: StoryWorld, kind: str) -> None:
    rows = Payload.objects.filter(decision_id=world.decisions["read"], kind=kind)
    assert rows.update(sealed=None, erased_at=utcnow()) == 1
    result = world.replayed("read")
    assert _kinds(result) == ("invalid", {"erased"})
    assert _paths(result) == {f"/values/{kind}"}
    assert "erased" in result.diffs[0].message


@pytest.mark.parametrize("kind", ["args", "inputs", "output", "transcript", "evidence"])
def test_a_damaged_value_is_tampering(world: StoryWorld, kind: str) -> None:
    row = Payload.objects.get(decision_id=world.decisions["read"], kind=kind)
    sealed = bytearray(bytes(row.sealed or b""))
    sealed[-1] ^= 1
    Payload.objects.filter(pk=row.pk).update(sealed=bytes(sealed))
    assert _kinds(world.replayed("read")) == ("invalid", {"tamper"})


def test_other_arguments_with_a_fitting_commitment_are_tampering(world: StoryWorld) -> None:
    _reseal(world, "read", "args", lambda args: {"order_id": "ord_0002"})
    assert _kinds(world.replayed("read")) == ("invalid", {"tamper"})


def test_other_inputs_are_found_by_their_hash(world: StoryWorld) -> None:
    _reseal(world, "read", "inputs", lambda said: {**said, "user": {"user_id": "somebody_else"}})
    result = world.replayed("read")
    assert _kinds(result) == ("replay_mismatch", {"policy"})
    assert "/rows/0/policy_decision/inputs_hash" in _paths(result)


@pytest.mark.parametrize("member", ["latency_ms", "upstream_status", "cost_cents"])
def test_another_transcript_is_found_by_the_hash_of_the_result(
    world: StoryWorld, member: str
) -> None:
    other = "seen" if member == "upstream_status" else 77
    _reseal(world, "written", "transcript", lambda said: {**said, member: other})
    result = world.replayed("written")
    assert _kinds(result) == ("replay_mismatch", {"transcript"})
    assert "/rows/1/tool_result_hash" in _paths(result)


def test_another_output_is_found(world: StoryWorld) -> None:
    row = Payload.objects.get(decision_id=world.decisions["read"], kind="output")
    fake = seal_payload(
        tenant_id=world.tenant_id,
        decision_id=row.decision_id,
        kind="output",
        value={"order_id": "ord_0001", "status": "lost"},
    )
    write_together(fake.write)
    _reseal(world, "read", "transcript", lambda said: {**said, "output_payload": fake.payload_id})
    assert {"transcript", "evidence"} & _kinds(world.replayed("read"))[1]


def test_a_changed_answer_for_callers_is_found(world: StoryWorld) -> None:
    call = world.call("read")
    ToolCall.objects.filter(pk=call.pk).update(
        result=call.result.replace('"attempts":1', '"attempts":2')
    )
    result = world.replayed("read")
    assert _kinds(result) == ("replay_mismatch", {"transcript"})
    assert _paths(result) == {"/result/attempts"}


def test_lost_or_changed_evidence_is_found(world: StoryWorld) -> None:
    call = world.call("read")
    Evidence.objects.filter(tool_call_id=call.pk).update(keys=["somewhere_else"])
    assert _kinds(world.replayed("read")) == ("replay_mismatch", {"evidence"})
    Evidence.objects.filter(tool_call_id=call.pk).delete()
    assert _kinds(world.replayed("read")) == ("replay_mismatch", {"evidence"})


# --- the documents -------------------------------------------------------------------------------
def _digest(world: StoryWorld, *path: str) -> str:
    found: Any = rows_of(tenant_id=world.tenant_id, decision_id=world.decisions["read"])[0]
    for name in path:
        found = found[int(name)] if name.isdigit() else found[name]
    return str(found)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("lineage", "manifest_hash"), "manifest"),
        (("lineage", "pack_hash"), "manifest"),
        (("lineage", "policy_bundles", "0", "hash"), "policy"),
    ],
)
def test_a_missing_document_is_invalid_and_a_changed_one_tampering(
    world: StoryWorld, path: tuple[str, ...], kind: str
) -> None:
    rows = Artefact.objects.filter(digest=_digest(world, *path))
    kept = rows.get()
    with triggers_asleep(connection):
        rows.update(content=bytes(kept.content) + b" ")
    assert _kinds(world.replayed("read")) == ("invalid", {"tamper"})
    with triggers_asleep(connection):
        rows.delete()
    result = world.replayed("read")
    assert _kinds(result) == ("invalid", {kind})
    assert result.diffs[0].expected == _digest(world, *path)


# --- the service that erases ---------------------------------------------------------------------
@pytest.mark.proves("E6")
@pytest.mark.parametrize("name", ["read", "approved", "arguments refused", "refusals counted"])
def test_what_the_erasing_service_took_away_is_told_as_erased(world: StoryWorld, name: str) -> None:
    actor = world.house.actor("admin")
    selection = Selection(
        tenant_id=world.tenant_id,
        decision_id=world.decisions["arguments refused" if "refus" in name else name],
    )
    asked = request_erasure(selection=selection, reason="The customer asked.", actor=actor)
    carry_out(erasure_id=asked.pk, actor=actor)
    result = world.replayed(name)
    assert _kinds(result) == ("invalid", {"erased"})
