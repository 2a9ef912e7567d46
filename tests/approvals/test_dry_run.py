"""Past votes under other terms: enough, in time, of the right people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.dry_run import Outcome, PastRequest, PastVote, replay, try_out
from approvals.gates import read_terms
from tests.approvals.test_gates import gate, stage
from tests.depth import examples

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = 3600
TWO = [stage(), stage("boss", ("managers",))]


def vote(
    voter: str, group: str = "finance", after: int = 60, verdict: str = "approve", **more: Any
) -> PastVote:
    at = START + timedelta(seconds=after)
    return PastVote(voter, verdict, at, frozenset({group}) - {""}, **more)


def asked(*votes: PastVote, actual: Outcome = Outcome.APPROVED, **more: Any) -> PastRequest:
    return PastRequest("apr_1", START, actual, votes, **more)


def under(request: PastRequest, authors: frozenset[str] = frozenset(), **changes: Any) -> Any:
    return replay(request, read_terms(gate(**{"escalations": [], **changes})), authors)


def test_the_same_terms_give_the_same_end() -> None:
    assert under(asked(vote("a"))).outcome is Outcome.APPROVED
    rejected = asked(vote("a", verdict="reject"), actual=Outcome.REJECTED)
    assert under(rejected).outcome is Outcome.REJECTED
    assert under(asked(actual=Outcome.EXPIRED)).outcome is Outcome.EXPIRED


def test_more_people_say_how_many_are_missing_at_which_stage() -> None:
    answer = under(asked(vote("a")), stages=[stage(quorum=3)])
    assert (answer.outcome, answer.missing) == (Outcome.SHORT, (("finance", 2),))
    answer = under(asked(vote("a")), stages=TWO)
    assert answer.missing == (("boss", 1),)


def test_people_of_other_groups_do_not_count() -> None:
    answer = under(asked(vote("a")), stages=[stage(groups=("managers",))])
    assert (answer.outcome, answer.uncounted) == (Outcome.SHORT, ("a",))


def test_fewer_people_would_have_decided_sooner() -> None:
    answer = under(asked(vote("a", after=60), vote("b", after=600)))
    assert answer.at == START + timedelta(seconds=60)


@pytest.mark.parametrize(("after", "outcome"), [(HOUR - 1, "approved"), (HOUR, "expired")])
def test_a_vote_after_the_end_would_have_come_too_late(after: int, outcome: str) -> None:
    answer = under(asked(vote("a", after=after)), expires_after_seconds=HOUR)
    assert answer.outcome == outcome


def test_a_question_stops_the_clock_here_too() -> None:
    request = asked(vote("a", after=HOUR + 60), paused=timedelta(hours=1))
    assert under(request, expires_after_seconds=HOUR).outcome is Outcome.APPROVED


def test_one_no_is_not_enough_where_two_are_asked_for() -> None:
    request = asked(vote("a", verdict="reject"), actual=Outcome.REJECTED)
    assert under(request, deny_threshold=2).outcome is Outcome.SHORT
    both = asked(vote("a", verdict="reject"), vote("b", verdict="reject"), actual=Outcome.REJECTED)
    assert under(both, deny_threshold=2).outcome is Outcome.REJECTED


def test_a_no_of_somebody_who_could_not_vote_does_not_count() -> None:
    request = asked(vote("a", "", verdict="reject"), actual=Outcome.REJECTED)
    assert under(request).outcome is Outcome.SHORT


def test_authors_of_the_draft_could_not_have_voted() -> None:
    answer = under(asked(vote("a")), frozenset({"a"}))
    assert (answer.outcome, answer.uncounted) == (Outcome.SHORT, ("a",))


def test_a_vote_for_a_later_stage_counts_once_that_stage_is_open() -> None:
    request = asked(vote("boss", "managers", 10), vote("a", after=20))
    assert under(request, stages=TWO).outcome is Outcome.APPROVED


def test_escalation_lets_a_waiting_vote_count_when_it_comes_due() -> None:
    steps = [{"after_seconds": HOUR, "groups": ["managers"]}]
    request = asked(vote("boss", "managers", 10))
    answer = under(request, escalations=steps)
    assert (answer.outcome, answer.at) == (Outcome.APPROVED, START + timedelta(hours=1))
    late = under(request, escalations=steps, expires_after_seconds=HOUR)
    assert late.outcome is Outcome.SHORT


def test_what_policy_asked_for_is_asked_for_again() -> None:
    assert under(asked(vote("a"), policy_quorum=2)).missing == (("finance", 1),)


def test_votes_without_a_code_are_counted_where_one_would_be_needed() -> None:
    votes = (vote("a"), vote("b", factor=True))
    assert under(asked(*votes, mode="network"), second_factor="always").codes_missing == 1
    assert under(asked(*votes, mode="network"), second_factor="destructive").codes_missing == 0


def test_the_report_counts_both_sides_and_lists_what_differs() -> None:
    requests = [asked(vote("a")), asked(vote("a"), vote("b")), asked(actual=Outcome.EXPIRED)]
    report = try_out(requests, read_terms(gate(stages=[stage(quorum=2)], escalations=[])))
    assert report.before == {Outcome.APPROVED: 2, Outcome.EXPIRED: 1}
    assert report.after == {Outcome.APPROVED: 1, Outcome.SHORT: 1, Outcome.EXPIRED: 1}
    assert [line.request for line in report.changed] == requests[:1]


_CAST = st.lists(
    st.tuples(st.sampled_from(["finance", "managers", ""]), st.integers(0, 2 * HOUR)), max_size=6
)


@settings(max_examples=examples(300), deadline=None)
@given(_CAST, st.integers(1, 3), st.integers(1, 3), st.integers(1, 2 * HOUR))
def test_an_approval_always_has_enough_votes_in_time_for_every_stage(
    cast: list[tuple[str, int]], first: int, second: int, expires: int
) -> None:
    votes = [vote(f"p{n}", group, at) for n, (group, at) in enumerate(cast)]
    stages = [stage(quorum=first), stage("boss", ("managers",), second)]
    answer = under(asked(*votes), stages=stages, expires_after_seconds=expires)
    timely = [v for v in votes if (v.at - START).total_seconds() < expires]
    enough = all(
        sum(1 for v in timely if name in v.groups) >= quorum
        for name, quorum in (("finance", first), ("managers", second))
    )
    assert (answer.outcome is Outcome.APPROVED) == enough
