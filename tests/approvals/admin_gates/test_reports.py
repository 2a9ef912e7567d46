"""Reports: sums that are right, haste and attempts that show, and who sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.admin.reports import chart, timeline
from approvals.models import ApprovalRequest, Vote
from approvals.reports import Asked, Cast, by_day, by_person, nine_of_ten, tally_of, waiting_times
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from tests.approvals.admin_gates.visits import GateHouse, page, text_of
from tests.approvals.world import GATE, GateWorld
from tests.identity.signed_in import browser_of
from tests.recorded_worlds import ready

START = datetime(2026, 1, 1, tzinfo=UTC)


def asked(state: str, took: float | None = None, **more: Any) -> Asked:
    decided = None if took is None else START + timedelta(seconds=took)
    return Asked(more.pop("gate", GATE), state, START, decided, **more)


def test_requests_are_counted_by_how_they_ended() -> None:
    rows = [
        asked("approved", 10),
        asked("consumed", 30),
        asked("rejected", 50),
        asked("expired", 86400),
        asked("pending"),
        asked("voided", 5),
        asked("cancelled", 5),
    ]
    tally = tally_of("all", rows)
    assert (tally.opened, tally.approved, tally.rejected, tally.expired) == (7, 2, 1, 1)
    assert (tally.waiting, tally.other) == (1, 2)
    assert tally.expired_share == 0.25
    assert tally.middle == 30  # expired and voided ones were decided by nobody


def test_no_request_has_no_share_and_no_time() -> None:
    tally = tally_of("none", [])
    assert (tally.expired_share, tally.middle, tally.slow) == (None, None, None)


def test_the_time_of_an_open_question_is_not_peoples_time() -> None:
    assert asked("approved", 100, paused_ms=40_000).seconds == 60


@pytest.mark.parametrize(
    ("values", "expected"), [([], None), ([5.0], 5.0), (list(range(1, 11)), 9), ([1, 2], 2)]
)
def test_nine_of_ten_stay_within(values: list[float], expected: float | None) -> None:
    assert nine_of_ten(values) == expected


def test_waiting_times_fall_into_their_spans() -> None:
    rows = [asked("approved", took) for took in (0, 59.9, 60, 599, 3599, 3600, 86_399, 86_400)]
    counts = [count for _, count in waiting_times([*rows, asked("expired", 10)])]
    assert counts == [2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("waited", "seen", "quick"),
    [(2.9, None, True), (3.0, None, False), (500, 2.9, True), (500, 3.0, False), (1, 60, True)],
)
def test_a_vote_in_less_than_three_seconds_is_quick(
    waited: float, seen: float | None, quick: bool
) -> None:
    assert Cast("fin1", "approve", waited, seen).is_quick is quick


def test_people_are_listed_by_how_much_they_carry() -> None:
    votes = [Cast("a", "approve", 10, 5), Cast("b", "reject", 2), Cast("b", "approve", 20, 1)]
    busiest, other = by_person(votes)
    assert (busiest.name, busiest.votes, busiest.approved, busiest.quick) == ("b", 2, 1, 2)
    assert (busiest.middle, busiest.looked, other.looked) == (11, 1, 5)


@pytest.mark.parametrize(("days", "columns"), [(1, 1), (31, 31), (32, 5), (366, 12)])
def test_days_become_weeks_where_there_are_many(days: int, columns: int) -> None:
    found = by_day([asked("pending")], START, START + timedelta(days=days))
    assert len(found) == columns
    assert sum(count for _, count in found) == 1


def test_a_chart_draws_the_longest_bar_widest_and_says_its_numbers() -> None:
    drawn = chart("Votes", [("a", 10), ("b", 5), ("c", 0)])
    widths = [bar.width for bar in drawn.bars]
    assert widths == [drawn.track, drawn.track // 2, 0]
    assert drawn.says == "a: 10; b: 5"
    assert chart("Nothing", []).bars == ()


def test_columns_over_time_stand_on_the_floor_and_not_all_are_labelled() -> None:
    drawn = timeline([(f"day {number}", number) for number in range(31)])
    assert all(column.y + column.height == drawn.floor for column in drawn.columns)
    assert drawn.columns[30].height == max(column.height for column in drawn.columns)
    assert sum(1 for column in drawn.columns if column.label) <= 10
    assert drawn.columns[30].x + drawn.columns[30].width <= drawn.width
    assert timeline([]).says == "nothing"


# --- the page ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "status"),
    [("admin", 200), ("auditor", 200), ("operator", 200), ("author", 403), ("approver", 403)],
)
def test_who_sees_reports(house: GateHouse, name: str, status: int) -> None:
    answer = house.browser(name).get(page("reports"))
    assert answer.status_code == status
    link = page("reports")
    front = house.browser(name).get("/admin/", follow=True)
    assert (link in text_of(front)) == (status == 200)


def test_an_empty_tenant_gets_an_explanation(house: GateHouse) -> None:
    assert "Nothing happened in these days" in text_of(house.browser("admin").get(page("reports")))


@pytest.mark.parametrize(
    "query",
    [
        {"since": "2026-02-01", "until": "2026-01-01"},
        {"since": "2024-01-01", "until": "2026-01-01"},
        {"since": "x"},
        {"gate": "GATE_OF_OTHERS"},
    ],
)
def test_days_that_make_no_sense_are_refused_with_the_reason(
    house: GateHouse, query: dict[str, str]
) -> None:
    answer = house.browser("admin").get(page("reports"), query)
    assert answer.status_code == 422
    assert "cos-field__error" in text_of(answer)


@pytest.fixture
def world(db: None) -> GateWorld:
    return ready(GateWorld)


@pytest.mark.proves("D3")
def test_haste_and_an_attempt_at_ones_own_show_and_stay_in_the_tenant(
    world: GateWorld, function_runner: None
) -> None:
    quick, _ = world.proposed()
    world.vote(quick, "fin1", seconds_seen=1.2)
    own, _ = world.proposed(key="ik_bbbbbbbbbbbbbbbb")
    ApprovalRequest.objects.filter(pk=own.pk).update(excluded=[world.approver("fin2").user_id])
    own.refresh_from_db()
    with pytest.raises(ContextOSError):
        world.vote(own, "fin2")
    answer = browser_of(world.house.user("auditor"), world.house.tenant).get(page("reports"))
    context = answer.context
    assert [row["approval_id"] for row in context["quick"]] == [quick.pk]
    assert [(row["approval_id"], row["gate"]) for row in context["attempts"]] == [(own.pk, GATE)]
    assert context["attempts"][0]["who"] == world.approver("fin2").username
    assert context["whole"].opened == 2
    neighbour = GateHouse()
    foreign = neighbour.browser("admin").get(page("reports"))
    assert quick.pk not in text_of(foreign)
    assert own.pk not in text_of(foreign)


def test_a_gate_and_days_narrow_the_sums(world: GateWorld, function_runner: None) -> None:
    request, _ = world.proposed()
    world.vote(request, "fin1", seconds_seen=60)
    old = utcnow() - timedelta(days=90)
    Vote.objects.update(created_at=old + timedelta(minutes=10))
    ApprovalRequest.objects.update(created_at=old, decided_at=old + timedelta(minutes=10))
    visitor = browser_of(world.house.user("admin"), world.house.tenant)
    address = page("reports")
    assert visitor.get(address).context["whole"].opened == 0
    days = {
        "since": (old - timedelta(days=1)).date().isoformat(),
        "until": (old + timedelta(days=1)).date().isoformat(),
    }
    context = visitor.get(address, {**days, "gate": GATE}).context
    assert (context["whole"].opened, context["vote_count"]) == (1, 1)
    assert context["whole"].middle == 600
    assert [line.name for line in context["people"]] == [str(world.approver("fin1"))]


def test_the_dry_run_page_replays_real_requests(world: GateWorld, function_runner: None) -> None:
    request, _ = world.proposed()
    world.vote(request, "fin1")
    world.proposed(key="ik_bbbbbbbbbbbbbbbb")  # still waits: not decided, so not tried
    from approvals.services import gates
    from tests.approvals.world import gate_document

    draft = gates.create_draft(
        tenant_id=world.tenant_id,
        document=gate_document(
            version="2.0.0", stages=[{"name": "finance", "groups": ["finance"], "quorum": 2}]
        ),
        author=world.house.author,
        actor=world.house.actor("author"),
    )
    visitor = browser_of(world.house.user("admin"), world.house.tenant)
    answer = visitor.get(page("gateversion_change", draft.pk), {"tab": "past"})
    (line,) = answer.context["report"].lines
    assert line.request.approval_id == request.pk
    assert line.differs
    assert "needs 1 more of finance" in text_of(answer)
