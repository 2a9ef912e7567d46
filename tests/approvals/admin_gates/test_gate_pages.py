"""Pages of gates: who opens them, how a gate is written, reviewed, published and retired."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import GateVersion
from contextos.review.states import VersionState
from tests.approvals.admin_gates.visits import (
    READERS,
    WRITERS,
    GateHouse,
    fields,
    gate_page,
    page,
    text_of,
)
from tests.approvals.test_gates import gate, stage
from tests.putting_back import triggers_asleep

TABS = (
    "overview",
    "who",
    "past",
    "changes",
    "findings",
    "document",
    "versions",
    "timeline",
    "reviews",
)


# --- who -----------------------------------------------------------------------------------------
@pytest.mark.live
@pytest.mark.proves("D1")
@pytest.mark.parametrize("name", READERS)
def test_everybody_with_a_part_in_gates_reads_every_tab(house: GateHouse, name: str) -> None:
    version = house.gate_approved()
    visitor = house.browser(name)
    assert visitor.get(page("gateversion_changelist")).status_code == 200
    for one in ("change", "review", "download"):
        assert visitor.get(gate_page(version, one)).status_code == 200, one
    for tab in TABS:
        assert visitor.get(gate_page(version, tab=tab)).status_code == 200, tab


@pytest.mark.proves("D1")
@pytest.mark.parametrize("name", READERS)
def test_only_authors_write_and_only_admins_publish(house: GateHouse, name: str) -> None:
    draft, approved = house.gate_draft(version="2.0.0"), house.gate_approved()
    visitor = house.browser(name)
    writes = 200 if name in WRITERS else 403
    assert visitor.get(page("gateversion_new")).status_code == writes
    assert visitor.post(page("gateversion_check"), fields()).status_code == writes
    for one in ("edit", "submit"):
        assert visitor.get(gate_page(draft, one)).status_code == writes
    publishes = 200 if name == "admin" else 403
    for one in ("publish", "retire"):
        assert visitor.get(gate_page(approved, one)).status_code == publishes


def test_nothing_of_another_tenant_is_found(house: GateHouse, neighbour: GateHouse) -> None:
    version = house.gate_draft(gate_id="GATE_OF_OTHERS")
    stranger = neighbour.browser("admin")
    for one in ("change", "review", "edit", "submit", "publish", "retire", "download"):
        assert stranger.get(gate_page(version, one)).status_code == 404, one
    assert "GATE_OF_OTHERS" not in text_of(stranger.get(page("gateversion_changelist")))
    assert stranger.get(f"{page('gateversion_new')}?from={version.pk}").status_code == 404


# --- the list ------------------------------------------------------------------------------------
def test_the_list_has_one_line_per_gate_with_what_is_in_force_and_under_way(
    house: GateHouse,
) -> None:
    published = house.gate_published()
    review = house.gate_in_review(version="1.1.0")
    draft = house.gate_draft(version="1.2.0")
    other = house.gate_draft(gate_id="GATE_NEW")
    answer = house.browser("admin").get(page("gateversion_changelist"))
    assert [row.pk for row in answer.context["cl"].result_list] == [draft.pk, other.pk]
    shown = text_of(answer)
    for version in (published, review, draft):
        assert gate_page(version) in shown
    assert "none: it is closed" in shown
    every = house.browser("admin").get(page("gateversion_changelist"), {"shown": "all"})
    assert len(every.context["cl"].result_list) == 4
    found = house.browser("admin").get(page("gateversion_changelist"), {"q": published.pk})
    assert [row.pk for row in found.context["cl"].result_list] == [published.pk]


def test_the_list_asks_as_much_for_many_gates_as_for_one(house: GateHouse) -> None:
    visitor = house.browser("admin")
    counts = []
    for more in (1, 10):
        for number in range(more):
            house.gate_draft(gate_id=f"GATE_{more}_{number}")
        with CaptureQueriesContext(
            connection,
        ) as statements:
            visitor.get(page("gateversion_changelist"))
        counts.append(len(statements))
    assert counts[0] == counts[1]


# --- writing -------------------------------------------------------------------------------------
@pytest.mark.proves("D1")
def test_a_gate_is_written_with_fields_and_stored_as_what_they_say(house: GateHouse) -> None:
    answer = house.browser("author").post(page("gateversion_new"), fields())
    assert answer.status_code == 302
    version = GateVersion.objects.get()
    assert (version.gate_id, version.version, version.author) == (
        "GATE_PAYOUTS",
        "1.0.0",
        house.user("author"),
    )
    stored = orjson.loads(house.browser("author").get(gate_page(version, "download")).content)
    assert stored == {
        "gate_id": "GATE_PAYOUTS",
        "version": "1.0.0",
        "title": "Payouts",
        "owner_role": "treasury",
        "stages": [{"name": "finance", "groups": ["finance"], "quorum": 1}],
        "deny_threshold": 1,
        "expires_after_seconds": 2 * 86400,
        "second_factor": "always",
        "reminders_after_seconds": [4 * 3600],
        "escalations": [{"after_seconds": 86400, "groups": ["finance"]}],
    }


def test_what_the_form_shows_saves_as_the_same_document(house: GateHouse) -> None:
    draft = house.gate_draft()
    author = house.browser("author")
    shown = author.get(gate_page(draft, "edit")).context["fields"]
    sent = fields(
        gate_id=draft.gate_id,
        version="1.0.0",
        title=shown.texts["title"],
        description=shown.texts["description"],
        owner_role=shown.texts["owner_role"],
        digest=draft.digest,
        second_factor=shown.second_factor,
    )
    for time in (shown.expires, *shown.reminders, *(step.time for step in shown.escalations)):
        sent |= {f"{time.name}-count": time.count, f"{time.name}-unit": time.unit}
    author.post(gate_page(draft, "edit"), sent)
    assert GateVersion.objects.get().digest == draft.digest


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"stage-0-quorum": "two"}, "f/stages/0/quorum", "A quorum is a whole number"),
        ({"stage-0-quorum": "9"}, "f/stages/0/quorum", "needs 9, and its groups have 2"),
        ({"stage-0-name": ""}, "f/stages/0/name", "The stage has no name"),
        ({"stage-0-groups": []}, "f/stages/0/groups", "Nobody keeps this part"),
        ({"expires-count": "8"}, "f/expires_after_seconds", "at most seven days"),
        ({"expires-unit": "years"}, "f/expires_after_seconds", "at most seven days"),
        ({"second_factor": "never"}, "f/second_factor", "no second factor"),
        ({"reminder-0-count": "-4"}, "f/reminders_after_seconds", "Reminders are"),
        ({"escalation-0-groups": []}, "f/escalations/0", "needs after_seconds and groups"),
        ({"escalation-0-count": "3"}, "f/escalations", "nobody is brought in"),
    ],
)
def test_each_finding_stands_beside_its_field_on_the_page_and_for_the_script(
    house: GateHouse, changes: dict[str, Any], place: str, words: str
) -> None:
    author = house.browser("author")
    answer = author.post(page("gateversion_new"), fields(action="check", **changes))
    notes = text_of(answer).split(f'data-findings="{place}">')[1].split("</div>")[0]
    assert words in notes
    report = author.post(page("gateversion_check"), fields(**changes)).json()
    assert any(row["field"] == place and words in row["message"] for row in report["findings"])
    assert not GateVersion.objects.exists()


def test_rows_are_added_moved_and_removed_without_a_script(house: GateHouse) -> None:
    author = house.browser("author")
    two = {"stage-1-name": "boss", "stage-1-groups": ["finance"], "stage-1-quorum": "1"}

    def names(action: str, **more: Any) -> list[str]:
        answer = author.post(page("gateversion_new"), fields(action=action, **more))
        assert answer.status_code == 200
        return [row.name for row in answer.context["fields"].stages]

    assert names("add:stage") == ["finance", "stage 2"]
    assert names("up:stage:1", **two) == ["boss", "finance"]
    assert names("drop:stage:0", **two) == ["boss"]
    for odd in ("drop:stage:99", "drop:stage:x", "up:stage:0", "add:everything", "", "drop:stage:"):
        assert names(odd, **two) == ["finance", "boss"]
    answer = author.post(page("gateversion_new"), fields(action="drop:reminder:0"))
    assert answer.context["fields"].reminders == ()
    answer = author.post(page("gateversion_new"), fields(action="add:escalation"))
    assert len(answer.context["fields"].escalations) == 2
    assert not GateVersion.objects.exists()


def test_the_form_becomes_json_and_json_the_form_again(house: GateHouse) -> None:
    author = house.browser("author")
    as_json = author.post(page("gateversion_new"), fields(action="json"))
    text = as_json.context["editing"].text
    assert orjson.loads(text)["expires_after_seconds"] == 2 * 86400
    again = author.post(
        page("gateversion_new"), {"view": "json", "action": "form", "document": text}
    )
    assert again.context["fields"].expires.count == "2"
    odd = orjson.dumps({**orjson.loads(text), "colour": "red"}).decode()
    kept = author.post(page("gateversion_new"), {"view": "json", "action": "form", "document": odd})
    assert kept.context["fields"] is None
    assert "parts that the form can't show" in text_of(kept)


def test_a_text_that_can_not_be_read_stays_with_the_reason(house: GateHouse) -> None:
    answer = house.browser("author").post(
        page("gateversion_new"), {"view": "json", "action": "save", "document": '{"a": 1, "a": 2}'}
    )
    assert answer.status_code == 422
    assert "&quot;a&quot;: 2" in text_of(answer)
    assert not GateVersion.objects.exists()


def test_a_fault_in_the_json_of_a_gate_is_shown_on_its_line(house: GateHouse) -> None:
    broken = '{\n  "gate_id": "GATE_PAYOUTS",\n  "title" 2\n}'
    sent = {"view": "json", "action": "check", "document": broken}
    author = house.browser("author")
    shown = text_of(author.post(page("gateversion_new"), sent))
    assert "Line 3, column" in shown
    report = author.post(page("gateversion_check"), sent).json()
    assert report["fault"]["line"] == 3


def test_findings_in_the_json_of_a_gate_name_their_line(house: GateHouse) -> None:
    draft = house.gate_draft(gate_id="GATE_PAYOUTS")
    text = orjson.dumps({"version": "1.0.0", "stages": [], "owner_role": "x"}).decode()
    sent = {"view": "json", "action": "check", "document": text, "digest": draft.digest}
    answer = house.browser("author").post(gate_page(draft, "edit"), sent)
    assert {row["line"] for row in answer.context["rows"]} == {"1"}
    assert not any("field" in row for row in answer.context["rows"])


def test_an_edit_over_somebody_elses_is_refused_and_kept_on_the_page(house: GateHouse) -> None:
    draft = house.gate_draft(gate_id="GATE_PAYOUTS")
    admin = house.browser("admin")
    admin.post(
        gate_page(draft, "edit"), fields(version="1.0.0", title="First", digest=draft.digest)
    )
    answer = house.browser("author").post(
        gate_page(draft, "edit"), fields(version="1.0.0", title="Second", digest=draft.digest)
    )
    assert answer.status_code == 422
    assert "Somebody else has edited this draft" in text_of(answer)
    assert "Second" in text_of(answer)


def test_a_new_version_starts_from_another_with_the_next_number(house: GateHouse) -> None:
    version = house.gate_published()
    answer = house.browser("author").get(f"{page('gateversion_new')}?from={version.pk}")
    assert answer.context["fields"].texts["version"] == "1.1.0"
    assert house.browser("author").get(gate_page(version, "edit")).status_code == 302


def test_hostile_text_is_shown_and_not_run(house: GateHouse) -> None:
    evil = "<script>alert(1)</script>\u202e"
    draft = house.gate_draft(title=evil, description=evil, stages=[stage(name=evil)])
    for tab in ("overview", "who", "document", "findings"):
        shown = text_of(house.browser("admin").get(gate_page(draft, tab=tab)))
        assert "<script>alert" not in shown
        assert "\u202e" not in shown
    shown = text_of(house.browser("admin").get(gate_page(draft, "edit")))
    assert "<script>alert" not in shown


def test_a_draft_that_holds_nonsense_has_pages_too(house: GateHouse) -> None:
    draft = house.gate_draft(stages=[{"name": 4}], escalations="x", second_factor=[])
    for tab in TABS:
        assert house.browser("author").get(gate_page(draft, tab=tab)).status_code == 200
    assert "Blocking findings" in text_of(house.browser("author").get(gate_page(draft, tab="who")))
    assert house.browser("author").get(gate_page(draft, "edit")).context["fields"] is None


# --- review and publication ----------------------------------------------------------------------
def _decide(house: GateHouse, version: GateVersion, name: str, verdict: str, **more: Any) -> Any:
    sent = {
        "verdict": verdict,
        "digest": version.digest,
        "reason": "Read in full.",
        "tick": [item["id"] for item in version.findings],
        "confirmed": "yes",
        **more,
    }
    return house.browser(name).post(gate_page(version, "review"), sent)


@pytest.mark.proves("D1")
def test_a_second_person_approves_and_an_admin_publishes(house: GateHouse) -> None:
    draft = house.gate_draft()
    house.browser("author").post(gate_page(draft, "submit"), {"digest": draft.digest})
    version = GateVersion.objects.get()
    assert version.state == VersionState.IN_REVIEW
    assert _decide(house, version, "author", "approve").status_code == 403
    assert _decide(house, version, "reviewer", "approve").status_code == 302
    house.browser("admin").post(gate_page(version, "publish"), {"notes": "From today on."})
    version.refresh_from_db()
    assert (version.state, version.publication_notes) == (VersionState.PUBLISHED, "From today on.")
    shown = text_of(house.browser("auditor").get(gate_page(version)))
    assert "signature verified now" in shown
    assert "decides now" in shown


@pytest.mark.proves("D1")
def test_whoever_wrote_on_it_can_not_approve_it_even_as_admin(house: GateHouse) -> None:
    draft = house.gate_draft(by="admin", gate_id="GATE_PAYOUTS")
    house.browser("admin").post(gate_page(draft, "submit"), {"digest": draft.digest})
    version = GateVersion.objects.get()
    answer = _decide(house, version, "admin", "approve")
    assert answer.status_code == 422
    version.refresh_from_db()
    assert version.state == VersionState.IN_REVIEW
    shown = text_of(house.browser("admin").get(gate_page(version, "review")))
    assert "somebody else has to decide" in shown


@pytest.mark.parametrize(
    ("verdict", "state"),
    [("reject", VersionState.REJECTED), ("request_changes", VersionState.CHANGES_REQUESTED)],
)
def test_a_reviewer_says_no_in_two_steps(
    house: GateHouse, verdict: str, state: VersionState
) -> None:
    version = house.gate_in_review()
    asked = house.browser("reviewer").post(
        gate_page(version, "review"),
        {"verdict": verdict, "digest": version.digest, "reason": "Too wide."},
    )
    assert asked.status_code == 200
    version.refresh_from_db()
    assert version.state == VersionState.IN_REVIEW
    _decide(house, version, "reviewer", verdict)
    version.refresh_from_db()
    assert version.state == state


def test_a_comment_stands_in_the_thread(house: GateHouse) -> None:
    version = house.gate_in_review()
    house.browser("reviewer").post(gate_page(version, "comment"), {"text": "Why two days?"})
    assert "Why two days?" in text_of(house.browser("author").get(gate_page(version, "review")))


def test_every_warning_has_to_be_ticked(house: GateHouse) -> None:
    version = house.gate_in_review(second_factor="never")
    answer = _decide(house, version, "reviewer", "approve", tick=[])
    assert answer.status_code == 422
    assert "1 of 1 warnings are not ticked" in text_of(answer)


@pytest.mark.proves("D1")
def test_the_reviewer_sees_each_widening_side_by_side(house: GateHouse) -> None:
    house.gate_published()
    version = house.gate_in_review(
        version="1.1.0", second_factor="never", expires_after_seconds=3600, escalations=[]
    )
    for address in (gate_page(version, "review"), gate_page(version, tab="changes")):
        answer = house.browser("reviewer").get(address)
        comparison = answer.context["comparison"]
        assert comparison.widenings == 2  # no code, and no escalation that could say no
        directions = [row["direction"] for row in comparison.changes]
        assert directions[:3] == ["widens", "widens", "narrows"]
        shown = text_of(answer)
        assert "2 widenings" in shown
        assert 'class="reg-change reg-change--widens"' in shown


def test_a_retired_gate_is_closed(house: GateHouse) -> None:
    version = house.gate_published()
    house.browser("admin").post(gate_page(version, "retire"), {"reason": "Not needed."})
    version.refresh_from_db()
    assert version.state == VersionState.RETIRED
    shown = text_of(house.browser("admin").get(page("gateversion_changelist")))
    assert "none: it is closed" in shown


def test_a_tampered_version_is_shown_as_tampered(house: GateHouse) -> None:
    version = house.gate_published()
    with triggers_asleep(connection):
        GateVersion.objects.filter(pk=version.pk).update(digest="sha256:" + "0" * 64)
    answer = house.browser("auditor").get(gate_page(version))
    assert answer.status_code == 200
    assert "signature refused" in text_of(answer)


def test_the_timeline_tells_who_did_what(house: GateHouse) -> None:
    version = house.gate_published()
    shown = text_of(house.browser("auditor").get(gate_page(version, tab="timeline")))
    for words in ("Gate drafted", "Gate submitted for review", "Gate approved", "Gate published"):
        assert words in shown


def test_the_example_document_fits_the_form() -> None:
    from approvals.admin.gates_form import fits_form

    assert fits_form(gate())
