"""The queue: order, what each line says, heaps of identical asks, filters, views, statements."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import ApprovalRequest, SavedView
from approvals.selectors import why_not
from approvals.services.delegations import delegate
from approvals.viewer import Viewer
from contextos.identity.models import User
from tests.approvals.admin.desk import GATE, QUEUE, Desk, page
from tests.approvals.admin.rows import TERMS, request_row
from tests.factories import SYSTEM, make_member

MOST_STATEMENTS = 12
TWO_STAGES = {
    **TERMS,
    "stages": [
        {"name": "finance", "groups": ["finance"], "quorum": 2},
        {"name": "board", "groups": ["board"], "quorum": 1},
    ],
}


def _shown(answer: Any) -> list[str]:
    return [row.pk for row in answer.context["cl"].result_list]


# --- order and lines -----------------------------------------------------------------------------
@pytest.mark.proves("D1")
def test_riskier_requests_come_first_then_older_ones(desk: Desk) -> None:
    now = timezone.now()
    young = desk.request(risk=30, created_at=now)
    old = desk.request(risk=30, created_at=now - timedelta(hours=2))
    risky = desk.request(risk=45, created_at=now)
    assert _shown(desk.fin1.get(QUEUE)) == [risky.pk, old.pk, young.pk]


def test_fifty_trivial_requests_do_not_hide_a_destructive_one(desk: Desk) -> None:
    early = timezone.now() - timedelta(hours=1)
    for _ in range(50):
        desk.request(effective_mode="network", risk=20, created_at=early)
    grave = desk.request(risk=48)
    shown = desk.fin1.get(QUEUE)
    assert _shown(shown)[0] == grave.pk
    assert f'value="{grave.pk}"' not in shown.text  # no box to tick


def test_a_line_says_what_how_much_who_where_and_how_long(desk: Desk) -> None:
    support = desk.person("support", "operator")
    desk.request(user_id=support.user_id, terms=TWO_STAGES)
    line = desk.fin1.get(QUEUE).text
    for words in (
        "payments.issue_refund",
        "4,200 INR",
        "destructive",
        f"<b>agent_support</b> on behalf of <b>{support.username}</b>",
        GATE,
        "finance, stage 1 of 2: 0 of 2 approved",
        "23 hours left",
    ):
        assert words in line


@pytest.mark.parametrize(
    ("language", "amount"),
    [
        ("en-GB", "420,000.50 INR"),
        ("de-DE,de;q=0.9", "420.000,50 INR"),
        ("en-IN", "4,20,000.50 INR"),
    ],
)
def test_amounts_are_written_as_the_viewer_is_used_to(
    desk: Desk, language: str, amount: str
) -> None:
    desk.request(amount="420000.50")
    assert amount in desk.fin1.get(QUEUE, headers={"Accept-Language": language}).text


@pytest.mark.parametrize(
    ("left", "words", "tone"),
    [
        (timedelta(hours=20), "19 hours left", "success"),
        (timedelta(hours=9), "soon: 8 hours left", "warning"),
        (timedelta(minutes=31), "urgent: 30 minutes left", "danger"),
        (timedelta(seconds=-5), "time is up", "danger"),
    ],
)
def test_the_time_left_is_said_in_words_and_repeated_by_colour(
    desk: Desk, left: timedelta, words: str, tone: str
) -> None:
    desk.request(expires_at=timezone.now() + left)
    assert f'cos-badge--{tone}">{words}<' in desk.fin1.get(QUEUE).text


def test_an_open_question_shows_and_stops_the_clock(desk: Desk) -> None:
    desk.request(question_open=True, question_since=timezone.now())
    text = desk.fin1.get(QUEUE).text
    assert "question open" in text
    assert "clock stopped" in text


# --- heaps ---------------------------------------------------------------------------------------
def test_identical_asks_of_one_agent_are_one_line_that_opens(desk: Desk) -> None:
    same = [desk.request(likeness="sha256:same") for _ in range(3)]
    other = desk.request(likeness="sha256:same", agent_id="another")
    answer = desk.fin1.get(QUEUE)
    assert _shown(answer) == [same[0].pk, other.pk]
    assert "×3 identical" in answer.text
    opened = desk.fin1.get(QUEUE, {"like": "sha256:same", "agent": "agent_support"})
    assert _shown(opened) == [row.pk for row in same]


# --- filters, tabs, views ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "changes"),
    [
        ({"capability": "mail.send"}, {"capability_id": "mail.send"}),
        ({"mode": "network"}, {"effective_mode": "network"}),
        ({"agent": "agent_x"}, {"agent_id": "agent_x"}),
        ({"gate": "GATE_TWO"}, {"gate_id": "GATE_TWO"}),
    ],
)
def test_filters_narrow_the_list(
    desk: Desk, wanted: dict[str, str], changes: dict[str, str]
) -> None:
    desk.keep("GATE_TWO", "finance")
    desk.request()
    fitting = desk.request(**changes)
    assert _shown(desk.fin1.get(QUEUE, wanted)) == [fitting.pk]


def test_decided_requests_have_a_tab_of_their_own_and_filter_by_state(desk: Desk) -> None:
    now = timezone.now()
    desk.request()
    rejected = desk.request(state="rejected", decided_at=now)
    voided = desk.request(state="voided", decided_at=now - timedelta(minutes=1))
    assert _shown(desk.fin1.get(QUEUE, {"show": "ended"})) == [rejected.pk, voided.pk]
    assert _shown(desk.fin1.get(QUEUE, {"state": "voided"})) == [voided.pk]


@pytest.mark.parametrize(
    "query",
    ["p=-1", "p=x", "p=99999", "show=%00", "state=nonsense", "like=%E2%80%AE", "gate=" + "x" * 999],
)
def test_a_nonsensical_address_is_a_page_all_the_same(desk: Desk, query: str) -> None:
    desk.request()
    assert desk.fin1.get(f"{QUEUE}?{query}").status_code == 200


def test_a_view_is_kept_under_a_name_for_its_owner_alone(desk: Desk) -> None:
    desk.request(effective_mode="network")
    kept = {"name": " Small   ones ", "query": "mode=network&p=7&evil=<script>"}
    desk.fin1.post(f"{QUEUE}views/", kept)
    view = SavedView.objects.get()
    assert (view.name, view.query) == ("Small ones", "mode=network")
    assert "Small ones" in desk.fin1.get(QUEUE).text
    assert "Small ones" not in desk.fin2.get(QUEUE).text
    desk.fin2.post(f"{QUEUE}views/", {"forget": str(view.pk)})
    assert SavedView.objects.count() == 1
    desk.fin1.post(f"{QUEUE}views/", {"forget": str(view.pk)})
    assert SavedView.objects.count() == 0
    assert "Small ones" not in desk.fin1.get(QUEUE).text


def test_a_view_needs_a_name(desk: Desk) -> None:
    answer = desk.fin1.post(f"{QUEUE}views/", {"name": "  ", "query": ""}, follow=True)
    assert "A view needs a name." in answer.text
    assert not SavedView.objects.exists()


# --- mine ----------------------------------------------------------------------------------------
def _people(desk: Desk) -> list[User]:
    """Approvers of every kind: own gate, other group, role lost, stand-ins wide and narrow."""
    desk.group("board", "boss")
    desk.group("idle", "idle")
    desk.keep(GATE, "board")
    lent: dict[str, Any] = {
        "tenant_id": desk.tenant.pk,
        "starts_at": timezone.now() - timedelta(hours=1),
        "ends_at": timezone.now() + timedelta(hours=1),
        "reason": "Away.",
        "actor": SYSTEM,
    }
    delegate(giver=desk.person("boss"), stand_in=desk.person("helper"), **lent)
    delegate(giver=desk.person("fin2"), stand_in=desk.person("temp"), gates=["OTHER"], **lent)
    former = desk.person("former")
    former.memberships.all().delete()
    return [desk.person(name) for name in ("fin1", "fin2", "boss", "idle", "helper", "temp")] + [
        former
    ]


@pytest.mark.proves("D1", "D2")
def test_mine_is_exactly_what_eligibility_would_let_me_decide(desk: Desk) -> None:
    people = _people(desk)
    fin1, boss = desk.person("fin1"), desk.person("boss")
    desk.request()
    desk.request(terms=TWO_STAGES, stage=1)
    desk.request(terms=TWO_STAGES)
    desk.request(excluded=[fin1.user_id])
    desk.request(excluded=[boss.user_id], terms=TWO_STAGES, stage=1)
    desk.request(gate_id="GATE_OF_NOBODY")
    desk.request(state="rejected")
    voted = desk.request(effective_mode="network", terms=TWO_STAGES)
    assert desk.vote(voted, "fin1").status_code == 302
    for user in people:
        user.acting_tenant_id = str(desk.tenant.pk)
        viewer = Viewer(user, str(desk.tenant.pk))
        waiting = ApprovalRequest.objects.filter(state="pending")
        expected = {row.pk for row in waiting if _may_decide(user, row)}
        assert {row.pk for row in viewer.mine()} == expected, user
        assert viewer.mine_count == len(expected)


def test_whoever_does_not_vote_has_a_menu_that_asks_nothing_of_the_queue(
    desk: Desk, django_assert_num_queries: Any
) -> None:
    operator = make_member(desk.tenant, "operator")
    operator.acting_tenant_id = str(desk.tenant.pk)
    desk.request()
    viewer = Viewer(operator, str(desk.tenant.pk))  # reads the roles with the permissions
    with django_assert_num_queries(0):
        assert viewer.mine_count == 0


def _may_decide(user: User, row: ApprovalRequest) -> bool:
    givers = [None, *User.objects.filter(pk__in=_givers(user))]
    return any(why_not(user, row, giver) is None for giver in givers)


def _givers(user: User) -> list[int]:
    from approvals.models import Delegation

    return list(Delegation.objects.filter(stand_in=user).values_list("giver", flat=True))


def test_the_menu_counts_what_waits_for_me(desk: Desk) -> None:
    for _ in range(3):
        desk.request()
    desk.request(excluded=[desk.person("fin1").user_id])
    front = desk.fin1.get("/admin/").text
    assert '<span class="cos-badge cos-badge--warning ml-auto">3</span>' in front
    assert "Requests to decide" in front


def test_next_leads_through_my_queue_and_ends(desk: Desk) -> None:
    low, high = desk.request(risk=20), desk.request(risk=40)
    assert desk.fin1.get(f"{QUEUE}next/")["Location"] == page(high)
    assert desk.fin1.get(f"{QUEUE}next/", {"after": high.pk})["Location"] == page(low)
    ApprovalRequest.objects.filter(pk=high.pk).update(state="rejected")
    ended = desk.fin1.get(f"{QUEUE}next/", {"after": low.pk}, follow=True)
    assert "Nothing else waits for you." in ended.text


# --- size ----------------------------------------------------------------------------------------
@pytest.mark.scale
@pytest.mark.proves("D5")
def test_ten_thousand_waiting_are_listed_in_few_statements(desk: Desk) -> None:
    ApprovalRequest.objects.bulk_create(
        (
            request_row(desk.tenant, agent_id=f"agent_{n % 250}", risk=20 + n % 30)
            for n in range(10_000)
        ),
        batch_size=500,
    )
    desk.fin1.get(QUEUE)
    for wanted in ({}, {"p": "3"}, {"show": "all"}, {"mode": "destructive", "agent": "agent_3"}):
        with CaptureQueriesContext(connection) as seen:
            answer = desk.fin1.get(QUEUE, wanted)
        assert 0 < len(_shown(answer)) <= 50
        assert len(seen) <= MOST_STATEMENTS, [query["sql"][:80] for query in seen]
    assert "99+" in answer.text
