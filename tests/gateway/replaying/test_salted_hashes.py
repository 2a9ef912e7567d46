"""Hashes of calls and results give nothing away once the values are erased, and replay (E4, E6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from audit.decisions import rows_of
from audit.models import Payload
from audit.payloads import salted_mark, unsealed
from contextos.core import strict_json
from contextos.core.canonical import digest
from gateway import accepting, ending, hashes
from gateway.hashes import Kept
from gateway.models import ToolCall
from gateway.replaying.findings import ReplayStatus
from tests.gateway.replaying.story import StoryWorld

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4", "E6")]
LOOKUP = {"order_id": "ord_0001"}


def _rows(world: StoryWorld, name: str) -> list[dict[str, Any]]:
    return rows_of(tenant_id=world.tenant_id, decision_id=world.decisions[name])


def _salt(decision_id: str, kind: str) -> bytes:
    return unsealed(Payload.objects.get(decision_id=decision_id, kind=kind)).salt


def test_what_an_agent_wrote_beside_the_arguments_stands_in_the_hash_under_their_salt(
    world: StoryWorld,
) -> None:
    world.ask("told", "orders.lookup", LOOKUP, metadata={"age": 44}, idempotency_key="ik_told")
    first, call = _rows(world, "told")[0], world.call("told")
    envelope: Mapping[str, Any] = strict_json.loads_object(call.envelope)
    guessed = digest({**envelope, "args": first["args_commitment"]})
    assert first["tool_call_hash"] != guessed, "whoever guesses the metadata could tell"
    salt = _salt(call.decision_id, "args")
    marks = {
        name: salted_mark(salt, name, envelope[name]) for name in ("metadata", "idempotency_key")
    }
    full = {**envelope, **marks, "args": first["args_commitment"]}
    assert first["tool_call_hash"] == digest(full)
    assert world.replayed("told").status is ReplayStatus.EQUAL


def test_what_a_tool_said_when_it_refused_stands_in_the_hash_under_the_transcripts_salt(
    world: StoryWorld,
) -> None:
    last, call = _rows(world, "tool said no")[-1], world.call("tool said no")
    envelope: Mapping[str, Any] = strict_json.loads_object(call.result)
    assert envelope["error"]["message"] not in str(last)
    assert last["tool_result_hash"] != digest({**envelope, "output": None})
    kept = Kept(None, _salt(call.decision_id, "transcript"))
    assert last["tool_result_hash"] == hashes.result_hash(envelope, kept)


def test_records_of_earlier_versions_replay_as_they_did(
    world: StoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call_hash(envelope: Mapping[str, Any], *, commitment: str, **_: Any) -> str:
        return digest({**envelope, "args": commitment})

    with monkeypatch.context() as earlier:  # the code of the version before, for a while
        earlier.setattr(accepting, "call_hash", call_hash)
        earlier.setattr(hashes, "_TOOLS_WORDS", ())
        world.ask("before", "orders.lookup", LOOKUP, metadata={"a": 1}, idempotency_key="ik_1")
        world.ask("refused before", "orders.lookup", {"order_id": "ord_0404"})
    for name in ("before", "refused before"):
        assert world.replayed(name).status is ReplayStatus.EQUAL, name
    call = world.call("before")
    ToolCall.objects.filter(pk=call.pk).update(envelope=call.envelope.replace('"a":1', '"a":2'))
    assert world.replayed("before").status is not ReplayStatus.EQUAL


def test_results_that_did_not_yet_say_what_people_were_asked_replay_as_they_did(
    world: StoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:  # the code of the version before, for a while
        earlier.setattr(ending, "_approval", lambda attempt: None)
        world.propose_as("agreed")
        world.decide("agreed", "approve")
        world.work("agreed")
    call = world.call("agreed")
    assert "approval" not in strict_json.loads_object(call.result)
    assert world.replayed("agreed").status is ReplayStatus.EQUAL
    told = call.result.replace('"attempts":', '"approval":{"gate":"GATE_OTHER"},"attempts":', 1)
    ToolCall.objects.filter(pk=call.pk).update(result=told)
    assert world.replayed("agreed").status is not ReplayStatus.EQUAL
