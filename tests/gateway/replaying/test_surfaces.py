"""Replay by REST, by command and by a click: for whom, in which shape, with what trace (E4)."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from audit.accesses import Terms, grant_access
from audit.models import AuditEvent, DecisionBody, DecisionRow, Payload
from contextos.core import strict_json
from contextos.core.clock import utcnow
from gateway.replaying.packets import packet_validator
from tests.factories import make_member
from tests.gateway.replaying.story import StoryWorld
from tests.identity.signed_in import browser_of
from tests.putting_back import triggers_asleep
from tests.registry.api.calls import caller, code_of
from tests.registry.house import House

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]


def _posted(world: StoryWorld, name: str, *, who: str = "auditor", body: Any = None) -> Any:
    path = f"decision-records/{world.decisions[name]}/replay"
    return caller(world.house, who).post(path, body)


def _erase(world: StoryWorld, name: str) -> None:
    rows = Payload.objects.filter(decision_id=world.decisions[name], kind="args")
    rows.update(sealed=None, erased_at=utcnow())


# --- REST ----------------------------------------------------------------------------------------
def test_the_answer_is_a_replay_packet(world: StoryWorld) -> None:
    answer = _posted(world, "approved")
    assert answer.status_code == 200, answer.content
    packet = answer.json()
    assert packet_validator().errors(packet) == ()
    assert packet["source_ref"] == world.decisions["approved"]
    assert packet["replay_packet_id"].startswith("rpl_")
    assert packet["context_pack_ref"] == "support_refund@1.1.0"
    assert packet["side_effect_policy"] == "transcript_only"
    assert packet["expected"]["status"] == "EXECUTED"
    assert packet["latest_result"]["status"] == "replay_equal"
    assert packet["latest_result"]["diffs"] == []
    assert "no-store" in answer["Cache-Control"]
    again = _posted(world, "approved", who="operator").json()
    assert again == packet


def test_erasing_a_value_leaves_the_hashes_of_the_packet(world: StoryWorld) -> None:
    before = _posted(world, "approved").json()
    _erase(world, "approved")
    after = _posted(world, "approved").json()
    assert after["latest_result"]["status"] == "invalid"
    assert [diff["type"] for diff in after["latest_result"]["diffs"]] == ["erased"]
    assert {**after, "latest_result": None} == {**before, "latest_result": None}


def test_each_replay_leaves_an_event_with_who_and_what(world: StoryWorld) -> None:
    _posted(world, "read")
    event = AuditEvent.objects.filter(action="decision.replayed").get()
    said: Any = strict_json.loads_object(event.text)
    assert (event.subject_kind, event.subject_id) == ("decision", world.decisions["read"])
    assert event.actor_id == world.house.user("auditor").user_id
    assert said["data"]["status"] == "replay_equal"


@pytest.mark.parametrize("who", ["author", "reviewer"])
def test_who_may_not_read_records_may_not_replay_them(world: StoryWorld, who: str) -> None:
    assert code_of(_posted(world, "read", who=who)) == (403, "role.missing")
    assert not AuditEvent.objects.filter(action="decision.replayed").exists()


def test_agents_are_told_that_a_person_is_needed(world: StoryWorld) -> None:
    answer = world.post(f"/api/v1/decision-records/{world.decisions['read']}/replay", {})
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.person_needed")


def test_an_auditor_replays_only_what_lies_in_their_period(world: StoryWorld) -> None:
    auditor = world.house.user("auditor")
    now, day = utcnow(), timedelta(days=1)
    terms = Terms(
        starts_at=now - day,
        ends_at=now + day,
        data_from=now - 30 * day,
        data_until=now - 20 * day,
    )
    grant_access(
        tenant_id=world.tenant_id,
        user=auditor,
        terms=terms,
        actor=world.house.actor("admin"),
        reason="The yearly audit.",
    )
    assert code_of(_posted(world, "read"))[1] == "auditor.outside_window"


@pytest.mark.parametrize("name", ["dec_absent", "tool_1", "dec_\u00e9"])
def test_a_decision_that_is_not_there_is_not_found(world: StoryWorld, name: str) -> None:
    answer = caller(world.house, "auditor").post(f"decision-records/{name}/replay")
    assert code_of(answer) == (404, "replay.unknown_decision")


def test_another_tenants_decision_is_not_found(world: StoryWorld) -> None:
    other = House()
    answer = caller(other, "auditor").post(f"decision-records/{world.decisions['read']}/replay")
    assert code_of(answer) == (404, "replay.unknown_decision")


def test_a_body_with_something_in_it_is_refused(world: StoryWorld) -> None:
    assert _posted(world, "read", body={"live": True}).status_code in (400, 422)


# --- the command ---------------------------------------------------------------------------------
def _said(*args: str) -> tuple[str, int]:
    out = StringIO()
    try:
        call_command("replay", *args, stdout=out, stderr=StringIO())
    except SystemExit as ended:
        return out.getvalue(), int(ended.code or 0)
    except CommandError as refused:
        return str(refused), refused.returncode
    return out.getvalue(), 0


def test_the_command_says_equal_and_exits_zero(world: StoryWorld) -> None:
    text, code = _said(world.decisions["approved"])
    assert (text.splitlines()[0], code) == ("replay_equal", 0)
    text, code = _said(world.decisions["approved"], "--json", "--tenant", world.tenant_id)
    assert code == 0
    assert packet_validator().errors(strict_json.loads_object(text)) == ()


def test_the_command_names_what_differs_and_exits_one(world: StoryWorld) -> None:
    _erase(world, "read")
    text, code = _said(world.decisions["read"])
    assert (text.splitlines()[0], code) == ("invalid", 1)
    assert "erased     /values/args" in text


@pytest.mark.parametrize(
    "args",
    [
        ("dec_absent",),
        (),
        ("--since", "2020-01-01", "--until", "2020-01-02"),
        ("--since", "yesterday"),
        ("--since", "2026-01-02", "--until", "2026-01-01"),
    ],
)
def test_the_command_says_so_when_there_is_nothing_to_replay(
    world: StoryWorld, args: tuple[str, ...]
) -> None:
    text, code = _said(*args, "--tenant", world.tenant_id)
    assert code == 2
    assert text


def test_a_period_is_replayed_and_counted(world: StoryWorld) -> None:
    text, code = _said("--since", "2020-01-01", "--tenant", world.tenant_id, "--json")
    tally: Any = strict_json.loads_object(text)
    decisions = DecisionRow.objects.filter(seq=1).count()
    assert (code, tally["total"]) == (0, decisions)
    assert tally["by_status"] == {
        "replay_equal": decisions,
        "replay_mismatch": 0,
        "invalid": 0,
    }
    event = AuditEvent.objects.filter(action="decision.period_replayed").get()
    assert f'"total":{decisions}' in event.text


def test_a_period_with_an_erased_decision_names_it_and_exits_one(world: StoryWorld) -> None:
    _erase(world, "read")
    text, code = _said("--since", "2020-01-01", "--tenant", world.tenant_id)
    assert code == 1
    assert "1 invalid" in text
    assert world.decisions["read"] in text


# --- the page ------------------------------------------------------------------------------------
def _page(world: StoryWorld, name: str, *, who: str = "auditor", post: bool = True) -> Any:
    browser = browser_of(world.house.user(who), world.house.tenant)
    address = f"/admin/gateway/replay/{world.decisions[name]}/"
    return browser.post(address) if post else browser.get(address)


def test_a_click_replays_and_the_page_says_what_came_out(world: StoryWorld) -> None:
    before = _page(world, "approved", post=False).content.decode()
    assert "Take this decision again?" in before
    assert "Nobody has replayed this decision" in before
    assert not AuditEvent.objects.filter(action="decision.replayed").exists()
    text = _page(world, "approved").content.decode()
    assert "The decision comes out the same again" in text
    assert "Did people vote on exactly this?" in text
    after = _page(world, "approved", post=False).content.decode()
    assert "equal" in after


def test_the_page_of_a_tampered_record_opens_and_says_so(world: StoryWorld) -> None:
    head = DecisionRow.objects.get(decision_id=world.decisions["read"], seq=1)
    with triggers_asleep(connection):
        DecisionBody.objects.filter(pk=head.pk).update(text="<script>alert(1)</script>")
    text = _page(world, "read").content.decode()
    assert "The decision can&#x27;t be taken again" in text
    assert "tampering" in text
    assert "<script>alert(1)" not in text


@pytest.mark.parametrize("who", ["author", "reviewer"])
def test_the_page_is_for_readers_of_records(world: StoryWorld, who: str) -> None:
    assert _page(world, "read", who=who).status_code == 403
    assert _page(world, "read", who=who, post=False).status_code == 403


def test_calls_and_refusals_have_the_button_for_those_who_may(world: StoryWorld) -> None:
    call = world.call("read")
    for who, has in (("auditor", True), ("author", False)):
        browser = browser_of(world.house.user(who), world.house.tenant)
        pages = (
            f"/admin/gateway/toolcall/{call.pk}/change/",
            f"/admin/gateway/refusals/{world.decisions['arguments refused']}/",
        )
        for page in pages:
            assert ("Replay this decision" in browser.get(page).content.decode()) is has, page


def test_a_member_of_another_tenant_finds_nothing(world: StoryWorld) -> None:
    other = House()
    stranger = make_member(other.tenant, "auditor")
    address = f"/admin/gateway/replay/{world.decisions['read']}/"
    assert browser_of(stranger, other.tenant).post(address).status_code == 404
