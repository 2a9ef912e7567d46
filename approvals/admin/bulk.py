"""Deciding several alike at once: same gate and capability, few, never destructive, one reason."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from approvals.admin.frame import frame, queue_url, url_of
from approvals.admin.reading import Reading
from approvals.figures import Figures, figures_of
from approvals.gates import read_terms
from approvals.labels import VERDICT_WORDS, asks, name
from approvals.models import ApprovalRequest
from approvals.services.votes import APPROVE, MAX_REASON, REJECT, Ballot, cast_vote
from approvals.viewer import Viewer
from contextos.core.errors import ContextOSError
from contextos.identity.models import User

MOST = 20
LEAST = 2


class BulkForm(forms.Form):
    """One reason for all."""

    reason = forms.CharField(
        label="Why",
        max_length=MAX_REASON,
        help_text="One reason; it is recorded with each of them.",
        widget=forms.Textarea(attrs={"rows": 2, "autofocus": True}),
        error_messages={"required": "Say why, in a sentence: it stands in every record."},
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one of them went."""

    url: str
    summary: str
    amount: str
    done: bool
    words: str


def bulk_view(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show them all with their total, ask once, then vote on each by itself."""
    given = request.POST if request.method == "POST" else request.GET
    verdict = REJECT if given.get("verdict") == REJECT else APPROVE
    rows = _chosen(viewer, given.getlist("id"))
    fault = _fault(viewer, rows, asked_for=len(set(given.getlist("id"))))
    if fault:
        return _page(request, rows, verdict, fault=fault, status=422)
    form = BulkForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        reason = form.cleaned_data["reason"]
        digests = dict(pair.split(" ", 1) for pair in given.getlist("digest") if " " in pair)
        figures = figures_of(request)
        done = [_decided(viewer, row, verdict, reason, digests, figures) for row in rows]
        viewer.count_again()
        return _outcomes(request, verdict, done)
    return _page(request, rows, verdict, form=form, status=422 if form.is_bound else 200)


def _chosen(viewer: Viewer, ids: list[str]) -> list[ApprovalRequest]:
    """At most one too many is read, to say so."""
    wanted = list(dict.fromkeys(ids))[: MOST + 1]
    rows = viewer.visible().filter(pk__in=wanted)
    return list(rows.order_by("-risk", "created_at", "pk"))


def _fault(viewer: Viewer, rows: list[ApprovalRequest], *, asked_for: int) -> str:
    """Why these can't be decided together; nothing when they can."""
    if asked_for < LEAST:
        return "Choose at least two requests in the queue."
    if asked_for > MOST:
        return f"At most {MOST} at once: people can't read more than that with care."
    if len({(row.gate_id, row.capability_id) for row in rows}) > 1:
        return "Only requests of the same gate and the same capability go together."
    if any(row.effective_mode == "destructive" for row in rows):
        return "Destructive requests are decided one by one, each with its own code."
    if any(read_terms(row.terms).needs_factor(row.effective_mode) for row in rows):
        return "This gate asks for a fresh code with every vote, so each is decided by itself."
    open_to = set(
        viewer.mine().filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True)
    )
    if len(rows) < asked_for or any(row.pk not in open_to for row in rows):
        return "Some of these are not yours to decide, or were decided meanwhile."
    return ""


def _decided(
    viewer: Viewer,
    row: ApprovalRequest,
    verdict: str,
    reason: str,
    digests: dict[str, str],
    figures: Figures,
) -> Outcome:
    summary, amount = name(str(row.view.get("summary", ""))), figures.amount(row.amount, row.unit)
    reading = Reading(viewer, row)
    ballot = Ballot(verdict=verdict, digest=digests.get(row.pk), reason=reason)
    try:
        cast_vote(tenant_id=row.tenant_id, approval_id=row.pk, approver=viewer.user, ballot=ballot)
    except ContextOSError as refused:
        words = f"Not counted: {refused.message} {refused.remediation}"
        return Outcome(url_of(row), summary, amount, done=False, words=words)
    now = Reading(viewer, ApprovalRequest.objects.get(pk=row.pk))
    yes, _ = now.counted
    words = f"You {VERDICT_WORDS[verdict]} it."
    if now.waits:
        words += f" {yes} of {reading.stage_terms.quorum} have approved; it waits for others."
    return Outcome(url_of(row), summary, amount, done=True, words=words)


def _page(
    request: HttpRequest,
    rows: list[ApprovalRequest],
    verdict: str,
    *,
    form: BulkForm | None = None,
    fault: str = "",
    status: int,
) -> TemplateResponse:
    figures, people = figures_of(request), _names(rows)
    title = f"{'Approve' if verdict == APPROVE else 'Reject'} {len(rows)} requests"
    context = {
        **frame(request, "Several at once" if fault else title),
        "heading": title,
        "rows": [_row(row, figures, people) for row in rows],
        "totals": _totals(rows, figures),
        "capability": name(rows[0].capability_id) if rows else "",
        "gate": name(rows[0].gate_id) if rows else "",
        "verdict": verdict,
        "form": form,
        "fault": fault,
        "queue_url": queue_url(),
    }
    return TemplateResponse(request, "approvals/bulk.html", context, status=status)


def _row(row: ApprovalRequest, figures: Figures, people: dict[str, str]) -> dict[str, Any]:
    return {
        "id": row.pk,
        "digest": row.digest,
        "url": url_of(row),
        "summary": name(str(row.view.get("summary", ""))),
        "amount": figures.amount(row.amount, row.unit),
        "asks": asks(row.agent_id, people.get(row.user_id, row.user_id)),
    }


def _names(rows: list[ApprovalRequest]) -> dict[str, str]:
    people = User.objects.filter(user_id__in=[row.user_id for row in rows])
    return {user.user_id: str(user) for user in people}


def _totals(rows: list[ApprovalRequest], figures: Figures) -> list[str]:
    """Per unit: sums of different units are never added up."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row.amount is not None:
            sums[row.unit] += row.amount
    return [figures.amount(total, unit) for unit, total in sorted(sums.items())]


def _outcomes(request: HttpRequest, verdict: str, done: list[Outcome]) -> TemplateResponse:
    counted = sum(outcome.done for outcome in done)
    context = {
        **frame(request, f"{counted} of {len(done)} {VERDICT_WORDS[verdict]}"),
        "outcomes": done,
        "counted": counted,
        "queue_url": queue_url(),
    }
    return TemplateResponse(request, "approvals/bulk_done.html", context)
