"""The lines of the queue: one page of requests, identical asks as one, in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, IntegerField, Min, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat, NullIf, Trim
from django.utils.safestring import SafeString

from approvals.admin.filters import ALL, Wanted
from approvals.admin.frame import url_of
from approvals.figures import Figures, span
from approvals.gates import read_terms
from approvals.labels import TimeLeft, asks, name, state_badge, time_left
from approvals.models import ApprovalRequest, Vote
from approvals.states import RequestState
from contextos.adminkit.display import mode_badge
from contextos.core.clock import utcnow
from contextos.identity.models import User

PER_PAGE = 50
IN_ORDER = ("-risk", "created_at", "pk")
ALIKE = ("likeness", "agent_id", "gate_id", "effective_mode", "risk")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: a request, or several identical ones of which the oldest stands for all."""

    request: ApprovalRequest
    summary: str
    amount: str
    capability: str
    mode: SafeString
    asks: SafeString
    gate: str
    stage: str
    votes: str
    left: TimeLeft
    state: SafeString
    age: str
    count: int
    alike_query: str
    url: str
    bulk: bool  # may be decided together with others


@dataclass(frozen=True, slots=True)
class Page:
    """One page of lines."""

    lines: list[Line]
    rows: list[ApprovalRequest]
    number: int
    more: bool


def page_of(rows: QuerySet[ApprovalRequest], wanted: Wanted, figures: Figures) -> Page:
    """The lines of the page in the address."""
    start = (wanted.p - 1) * PER_PAGE
    end = start + PER_PAGE + 1
    if not wanted.waits:
        found = list(_told(rows.order_by("-decided_at", "-pk"))[start:end])
    elif wanted.like:
        found = list(_told(rows.order_by(*IN_ORDER))[start:end])
    else:
        found = list(_heaps(rows, start, end))
    shown = found[:PER_PAGE]
    lines = [_line(row, wanted, figures) for row in shown]
    return Page(lines, shown, wanted.p, len(found) > PER_PAGE)


def _heaps(rows: QuerySet[ApprovalRequest], start: int, end: int) -> QuerySet[ApprovalRequest]:
    """The oldest of each heap, with the heap's size; ids grow with time."""
    heaps = rows.order_by().values(*ALIKE).annotate(oldest=Min("pk"), since=Min("created_at"))
    firsts = heaps.order_by("-risk", "since", "oldest").values("oldest")[start:end]
    # By agent: that has an index, and no agent has many waiting.
    same = ApprovalRequest.objects.order_by().filter(
        tenant_id=OuterRef("tenant_id"),
        state=RequestState.PENDING,
        agent_id=OuterRef("agent_id"),
        likeness=OuterRef("likeness"),
    )
    size = same.values("agent_id").annotate(n=Count("pk")).values("n")
    chosen = _told(ApprovalRequest.objects.filter(pk__in=firsts))
    heap = Coalesce(Subquery(size, output_field=IntegerField()), 1)
    return chosen.annotate(heap=heap).order_by(*IN_ORDER)


def _told(rows: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
    """With the name of the person behind it, and the votes so far."""
    full_name = NullIf(Trim(Concat("first_name", Value(" "), "last_name")), Value(""))
    person = User.objects.filter(user_id=OuterRef("user_id")).values(
        called=Coalesce(full_name, "username")
    )
    return rows.annotate(
        person=Subquery(person[:1]),
        yes=_votes(verdict="approve", stage=OuterRef("stage")),
        no=_votes(verdict="reject"),
    )


def _votes(**which: Any) -> Any:
    votes = Vote.objects.filter(request=OuterRef("pk"), withdrawn_at__isnull=True, **which)
    counted = votes.order_by().values("request").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _line(row: Any, wanted: Wanted, figures: Figures) -> Line:
    terms = read_terms(row.terms)
    stage = min(row.stage, len(terms.stages) - 1)
    needed = terms.stages[stage].quorum
    yes = row.yes if row.stage == stage else needed  # past the last stage: its quorum came together
    now, heap = utcnow(), getattr(row, "heap", 1)
    return Line(
        request=row,
        summary=name(str(row.view.get("summary", row.capability_id))),
        amount=figures.amount(row.amount, row.unit),
        capability=name(row.capability_id),
        mode=mode_badge(row.effective_mode),
        asks=asks(row.agent_id, row.person or row.user_id),
        gate=name(row.gate_id),
        stage=_stage_words(terms.stages[stage].name, stage, len(terms.stages)),
        votes=_votes_words(yes, needed, row.no),
        left=time_left(row, terms, now),
        state=state_badge(row.state),
        age=_ago(now - row.created_at),
        count=heap,
        alike_query=wanted.query(show=ALL, like=row.likeness, p=1) if heap > 1 else "",
        url=url_of(row).removesuffix("change/"),
        bulk=wanted.waits and row.effective_mode != "destructive",
    )


def _ago(length: timedelta) -> str:
    return f"asked {span(length)} ago" if length >= timedelta(minutes=1) else "asked just now"


def _stage_words(title: str, stage: int, stages: int) -> str:
    return f"{name(title)}, stage {stage + 1} of {stages}" if stages > 1 else name(title)


def _votes_words(yes: int, needed: int, no: int) -> str:
    words = f"{yes} of {needed} approved"
    return f"{words}, {no} rejected" if no else words
