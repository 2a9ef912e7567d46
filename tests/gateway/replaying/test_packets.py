"""Packet files: carried elsewhere they replay the same, changed they say so (E4)."""

from __future__ import annotations

import copy
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.clearance import Clearance
from audit.models import AuditEvent, Payload
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from gateway.models import Evidence, ToolCall
from gateway.replaying.packet_files import replay_packet
from gateway.replaying.packets import packet_validator
from gateway.replaying.services import export_packet
from tests.audit.test_access import granted
from tests.factories import make_user_token
from tests.gateway.replaying.story import StoryWorld
from tests.identity.signed_in import browser_of
from tests.registry.api.calls import caller

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]
ACTOR = automation("tests")


def _exported(world: StoryWorld, name: str, *, with_values: bool = True) -> dict[str, Any]:
    return export_packet(
        tenant_id=world.tenant_id,
        decision_id=world.decisions[name],
        actor=ACTOR,
        with_values=with_values,
    )


def _replayed(packet: dict[str, Any]) -> tuple[str, set[str]]:
    result = replay_packet(orjson.dumps(packet))["latest_result"]
    return result["status"], {diff["type"] for diff in result["diffs"]}


def test_every_kind_of_decision_replays_equal_from_its_packet_alone(world: StoryWorld) -> None:
    for name in world.decisions:
        packet = _exported(world, name)
        assert packet_validator().errors(packet) == (), name
        content = orjson.dumps(packet)
        with CaptureQueriesContext(connection) as asked:
            answer = replay_packet(content)
        assert answer["latest_result"]["status"] == "replay_equal", (name, answer)
        assert len(asked) == 0, "a packet is replayed without a database"


def test_without_values_a_packet_gives_none_away_and_can_be_checked_not_replayed(
    world: StoryWorld,
) -> None:
    packet = _exported(world, "approved", with_values=False)
    text = orjson.dumps(packet).decode()
    assert "txn_4200" not in text
    assert _replayed(packet) == ("invalid", {"erased"})
    packet["recorded"]["rows"][0] = packet["recorded"]["rows"][0].replace("PROPOSED", "APPROVED")
    assert "tamper" in _replayed(packet)[1]


def test_an_erased_value_stays_erased_in_the_packet(world: StoryWorld) -> None:
    Payload.objects.filter(decision_id=world.decisions["read"], kind="output").update(
        sealed=None, erased_at=utcnow()
    )
    assert _replayed(_exported(world, "read")) == ("invalid", {"erased"})


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for name in value for leaf in _leaves(value[name], (*path, name))]
    if isinstance(value, list):
        return [leaf for at, item in enumerate(value) for leaf in _leaves(item, (*path, at))]
    return [path]


def _changed(packet: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    other = copy.deepcopy(packet)
    place: Any = other
    for name in path[:-1]:
        place = place[name]
    old = place[path[-1]]
    if isinstance(old, bool):
        place[path[-1]] = not old
    elif isinstance(old, int | float):
        place[path[-1]] = old + 1
    elif isinstance(old, str) and old:
        place[path[-1]] = old[:-1] + ("0" if old[-1] != "0" else "1")
    else:
        place[path[-1]] = "something"
    return other


# What a replay does not rest on: what came out last time, names of rows, what manifest and record
# say themselves.
_FREE = {
    ("recorded", "call", "is_write"),
    ("recorded", "call", "attempts"),
    ("latest_result",),
    ("recorded", "call", "reserved_cents"),
    ("recorded", "call", "cancel_reason"),
    ("recorded", "call", "version_id"),
    ("recorded", "call", "task"),
    ("recorded", "approval", "approval_id"),
    ("recorded", "approval", "state"),
    ("recorded", "run", "pins"),
    ("recorded", "pins"),
    ("recorded", "documents"),  # those of other adapters of the run
    ("recorded", "values"),  # ids of rows; the values themselves are tried below
    ("recorded", "run", "run_id"),
    ("recorded", "call", "run_id"),
}


def _status(packet: dict[str, Any]) -> str:
    try:
        return _replayed(packet)[0]
    except ContextOSError as refused:
        return refused.code


def test_no_changed_packet_passes_for_the_original(world: StoryWorld) -> None:
    packet = _exported(world, "approved")
    assert _status(packet) == "replay_equal"
    missed = []
    for path in _leaves(packet):
        if any(path[: len(free)] == free for free in _FREE):
            continue
        status = _status(_changed(packet, path))
        if status == "replay_equal":
            missed.append(path)
    assert missed == []


def test_changed_values_and_documents_are_tampering(world: StoryWorld) -> None:
    packet = _exported(world, "approved")
    for at, kept in enumerate(packet["recorded"]["values"]):
        other = copy.deepcopy(packet)
        other["recorded"]["values"][at]["value"] = {"something": "else"}
        assert _replayed(other) == ("invalid", {"tamper"}), kept["kind"]
    manifest = next(
        at
        for at, item in enumerate(packet["recorded"]["documents"])
        if "payments.issue_refund" in item["text"] and "capabilities" in item["text"]
    )
    other = copy.deepcopy(packet)
    item = other["recorded"]["documents"][manifest]
    item["text"] = item["text"].replace("destructive", "read_only")
    assert _replayed(other) == ("invalid", {"tamper"})
    del other["recorded"]["documents"][manifest]
    assert _replayed(other) == ("invalid", {"manifest"})


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"recorded":{}}', b"\xff", b'{"a":1,"a":2}']
)
def test_what_is_no_packet_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(ContextOSError, match=r"replay\.packet_unreadable"):
        replay_packet(content)


def test_strange_rows_beside_the_record_are_tampering_not_a_crash(world: StoryWorld) -> None:
    call = world.call("read")
    for envelope in ("{", "{}", "[]"):
        ToolCall.objects.filter(pk=call.pk).update(envelope=envelope)
        result = world.replayed("read")
        assert result.status.value != "replay_equal", envelope


def test_the_command_writes_and_replays_packet_files(world: StoryWorld, tmp_path: Path) -> None:
    file = tmp_path / "packet.json"
    call_command("replay", world.decisions["approved"], "--export", str(file), stdout=StringIO())
    out = StringIO()
    call_command("replay", "--packet", str(file), stdout=out)
    assert out.getvalue().startswith("replay_equal")
    file.write_bytes(file.read_bytes().replace(b"txn_4200", b"txn_4201"))
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("replay", "--packet", str(file), stdout=out)
    assert ended.value.code == 1
    assert "tamper" in out.getvalue()
    with pytest.raises(CommandError):
        call_command("replay", "--packet", str(tmp_path / "absent"), stdout=StringIO())
    event = AuditEvent.objects.get(action="decision.packet_exported")
    assert '"with_values":true' in event.text


@pytest.mark.parametrize(("who", "kept"), [("operator", True), ("auditor", True)])
def test_rest_and_page_hand_packets_out_with_values_to_the_cleared(
    world: StoryWorld, who: str, kept: bool
) -> None:
    path = f"decision-records/{world.decisions['approved']}/replay-packet"
    answer = caller(world.house, who).get(path)
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    assert ("txn_4200" in answer.content.decode()) is kept
    browser = browser_of(world.house.user(who), world.house.tenant)
    address = f"/admin/gateway/replay/{world.decisions['approved']}/packet/"
    assert browser.get(address).status_code == 405
    assert ("txn_4200" in browser.post(address).content.decode()) is kept


def test_evidence_above_the_clearance_keeps_all_values_back(world: StoryWorld) -> None:
    Evidence.objects.filter(tool_call_id=world.call("approved").pk).update(
        classification="RESTRICTED"
    )
    path = f"decision-records/{world.decisions['approved']}/replay-packet"
    assert "txn_4200" not in caller(world.house, "auditor").get(path).content.decode()
    assert caller(world.house, "author").get(path).status_code == 403


def test_a_token_narrowed_for_an_agent_gets_commitments_instead_of_values(
    world: StoryWorld,
) -> None:
    narrowed = make_user_token(
        world.house.user("operator"), world.house.tenant, scopes=["orders.lookup"]
    ).token
    answer = Client().get(
        f"/api/v1/decision-records/{world.decisions['approved']}/replay-packet",
        headers={"authorization": f"Bearer {narrowed}"},
    )
    assert answer.status_code == 200
    assert "txn_4200" not in answer.content.decode()


def test_an_auditor_tries_out_values_of_their_own_period_and_clearance_only(
    world: StoryWorld,
) -> None:
    auditor, tenant = world.house.user("auditor"), world.house.tenant
    address = f"/admin/audit/match/{world.decisions['approved']}/"
    assert browser_of(auditor, tenant).get(address).status_code == 200
    granted(auditor, tenant, data_from=None, data_until=None, clearance=Clearance.INTERNAL)
    assert browser_of(auditor, tenant).get(address).status_code == 403
    granted(auditor, tenant, clearance=Clearance.RESTRICTED)  # of an earlier month
    assert browser_of(auditor, tenant).get(address).status_code == 403
