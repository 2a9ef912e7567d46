"""What approvals cost and how they are used: workload, waiting, haste, attempts at one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import F, Q

from approvals.models import ApprovalRequest, Vote
from approvals.states import RequestState
from audit.models import AuditEvent
from audit.selectors import EventFilter, events_of
from contextos.identity.models import User

QUICK = 3.0  # seconds; nobody reads a request in less
MOST = 50_000
LISTED = 100
REFUSED = "approval.vote_refused"
_YES = frozenset({RequestState.APPROVED.value, RequestState.CONSUMED.value})
_BUCKETS = (
    (60, "under a minute"),
    (600, "1 to 10 minutes"),
    (3600, "10 minutes to 1 hour"),
    (4 * 3600, "1 to 4 hours"),
    (24 * 3600, "4 hours to 1 day"),
    (None, "longer than a day"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What counts of one request."""

    gate_id: str
    state: str
    created_at: datetime
    decided_at: datetime | None
    paused_ms: int = 0

    @property
    def seconds(self) -> float | None:
        """From the request to people's decision, without the time a question stopped the clock."""
        if self.decided_at is None or self.state not in {*_YES, RequestState.REJECTED.value}:
            return None
        spent = (self.decided_at - self.created_at).total_seconds() - self.paused_ms / 1000
        return max(0.0, spent)


@dataclass(frozen=True, slots=True)
class Cast:
    """What counts of one vote."""

    person: str
    verdict: str
    waited: float  # seconds from the request to the vote
    seen: float | None = None  # seconds the page was open

    @property
    def is_quick(self) -> bool:
        """Whether nobody can have read the request."""
        return self.waited < QUICK or (self.seen is not None and self.seen < QUICK)


@dataclass(frozen=True, slots=True)
class Tally:
    """A gate's requests, or all of them."""

    name: str
    opened: int
    approved: int
    rejected: int
    expired: int
    waiting: int
    other: int
    middle: float | None  # median seconds to decide
    slow: float | None  # nine of ten are decided within

    @property
    def expired_share(self) -> float | None:
        """Of those that ended by people or by the clock, the part nobody decided."""
        ended = self.approved + self.rejected + self.expired
        return self.expired / ended if ended else None


@dataclass(frozen=True, slots=True)
class Voter:
    """One person's votes."""

    name: str
    votes: int
    approved: int
    rejected: int
    quick: int
    middle: float | None  # median seconds from request to vote
    looked: float | None  # median seconds the page was open


# --- summing up; pure ----------------------------------------------------------------------------
def tally_of(name: str, rows: Iterable[Asked]) -> Tally:
    """Counts and waiting times of some requests."""
    listed = list(rows)
    states = Counter(row.state for row in listed)
    took = sorted(seconds for row in listed if (seconds := row.seconds) is not None)
    return Tally(
        name=name,
        opened=len(listed),
        approved=sum(states[state] for state in _YES),
        rejected=states[RequestState.REJECTED.value],
        expired=states[RequestState.EXPIRED.value],
        waiting=states[RequestState.PENDING.value],
        other=states[RequestState.VOIDED.value] + states[RequestState.CANCELLED.value],
        middle=median(took) if took else None,
        slow=nine_of_ten(took),
    )


def by_gate(rows: Sequence[Asked]) -> list[Tally]:
    """One tally per gate, the busiest first."""
    listed: dict[str, list[Asked]] = {}
    for row in rows:
        listed.setdefault(row.gate_id, []).append(row)
    found = [tally_of(name, theirs) for name, theirs in listed.items()]
    return sorted(found, key=lambda tally: (-tally.opened, tally.name))


def by_person(votes: Sequence[Cast]) -> list[Voter]:
    """One line per person, the busiest first."""
    found: dict[str, list[Cast]] = {}
    for vote in votes:
        found.setdefault(vote.person, []).append(vote)
    lines = [_voter(name, theirs) for name, theirs in found.items()]
    return sorted(lines, key=lambda line: (-line.votes, line.name))


def _voter(name: str, votes: list[Cast]) -> Voter:
    verdicts = Counter(vote.verdict for vote in votes)
    seen = [vote.seen for vote in votes if vote.seen is not None]
    return Voter(
        name=name,
        votes=len(votes),
        approved=verdicts["approve"],
        rejected=verdicts["reject"],
        quick=sum(1 for vote in votes if vote.is_quick),
        middle=median(vote.waited for vote in votes),
        looked=median(seen) if seen else None,
    )


def nine_of_ten(ordered: Sequence[float]) -> float | None:
    """The smallest value that nine of ten stay within."""
    if not ordered:
        return None
    return ordered[-(-len(ordered) * 9 // 10) - 1]


def waiting_times(rows: Iterable[Asked]) -> list[tuple[str, int]]:
    """How many requests were decided within which time."""
    took = [seconds for row in rows if (seconds := row.seconds) is not None]
    counted, before = [], 0
    for limit, words in _BUCKETS:
        within = len(took) if limit is None else sum(1 for seconds in took if seconds < limit)
        counted.append((words, within - before))
        before = within
    return counted


def by_day(rows: Iterable[Asked], since: datetime, until: datetime) -> list[tuple[str, int]]:
    """Requests opened per day, or per week where there are many days."""
    days = max(1, -(-(until - since) // timedelta(days=1)))
    step = 1 if days <= 31 else 7 if days <= 217 else 31
    counted = Counter((row.created_at - since) // timedelta(days=step) for row in rows)
    return [
        (f"{since + timedelta(days=step * number):%d %b}", counted[number])
        for number in range(-(-days // step))
    ]


# --- reading -------------------------------------------------------------------------------------
def requests_between(
    tenant_id: str, since: datetime, until: datetime, gate_id: str = ""
) -> list[Asked]:
    """The latest requests opened in a time, at most MOST."""
    rows = ApprovalRequest.objects.filter(
        tenant_id=tenant_id, created_at__gte=since, created_at__lt=until
    )
    if gate_id:
        rows = rows.filter(gate_id=gate_id)
    columns = ("gate_id", "state", "created_at", "decided_at", "paused_ms")
    return [Asked(*values) for values in rows.order_by("-approval_id").values_list(*columns)[:MOST]]


def votes_between(tenant_id: str, since: datetime, until: datetime, gate_id: str = "") -> Any:
    """The votes cast in a time, newest first, each with its request and its people."""
    rows = Vote.objects.filter(
        request__tenant_id=tenant_id, created_at__gte=since, created_at__lt=until
    )
    if gate_id:
        rows = rows.filter(request__gate_id=gate_id)
    return rows.select_related("request", "approver", "on_behalf_of").order_by("-created_at")


def casts_of(votes: Any) -> list[Cast]:
    """The votes as the sums want them; plain values, because there may be many."""
    columns = ("approver_id", "verdict", "created_at", "request__created_at", "seconds_seen")
    rows = list(votes.values_list(*columns)[:MOST])
    people = User.objects.in_bulk({row[0] for row in rows})
    names = {pk: str(user) for pk, user in people.items()}
    return [
        Cast(names[who], verdict, (at - asked).total_seconds(), seen)
        for who, verdict, at, asked, seen in rows
    ]


def quick_votes(votes: Any) -> Any:
    """Votes that nobody can have thought about, newest first."""
    soon = Q(created_at__lt=F("request__created_at") + timedelta(seconds=QUICK))
    return votes.filter(soon | Q(seconds_seen__lt=QUICK))


def own_attempts(tenant_id: str, since: datetime, until: datetime) -> list[AuditEvent]:
    """Refused votes on what the voter asked for or wrote, newest first."""
    wanted = EventFilter(action=REFUSED, since=since, until=until)
    return list(events_of(tenant_id, wanted)[:LISTED])
