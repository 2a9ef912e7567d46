"""The report page: workload, waiting times, haste, attempts at one's own; charts are plain SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from approvals import reports
from approvals.durations import in_words
from approvals.models import Gate
from approvals.reports import LISTED, MOST
from audit.admin.periods import PeriodForm, usual_period
from audit.admin.window import span_within
from audit.models import AuditEvent
from audit.selectors import told_by
from contextos.adminkit.links import admin_url
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.text import single_line

_WIDTH, _LINE = 320, 40
_BAR = _WIDTH - 44
_WIDE, _HIGH, _FOOT = 920, 120, 24


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart, placed; its words stand above it."""

    label: str
    value: str
    y: int
    text_y: int
    width: int
    value_x: int


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart; the same numbers stand in words in `says` and in a table below it."""

    title: str
    bars: tuple[Bar, ...]
    height: int
    says: str
    width: int = _WIDTH
    track: int = _BAR


@dataclass(frozen=True, slots=True)
class Column:
    """One day or week of a chart over time, placed."""

    x: int
    y: int
    width: int
    height: int
    middle: int
    value: str
    label: str  # only so many that they can be read


@dataclass(frozen=True, slots=True)
class Timeline:
    """Columns from left to right."""

    columns: tuple[Column, ...]
    says: str
    width: int = _WIDE
    height: int = _HIGH + _FOOT + 16
    floor: int = _HIGH + 16
    foot: int = _HIGH + _FOOT + 8


class SpanForm(PeriodForm):
    """The days a report is about, and one gate or all."""

    gate = forms.ChoiceField(label="Gate", required=False)

    def __init__(self, *args: Any, gates: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["gate"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [("", "every gate"), *((name, name) for name in gates)]


def reports_view(request: HttpRequest) -> HttpResponse:
    """Everything for a span of days; approvers do not read about each other here."""
    tenant_id = acting_tenant_id(request)
    if not request.user.has_perms(["approvals.view_vote", "approvals.view_approvergroup"]):
        raise PermissionDenied
    site_context = {
        **admin.site.each_context(request),
        "title": "Reports",
        "trail": [("", "Reports")],
    }
    gates = list(Gate.objects.filter(tenant_id=tenant_id).values_list("gate_id", flat=True))
    form = SpanForm(usual_period() | request.GET.dict(), gates=gates)
    if not form.is_valid():
        context = {**site_context, "form": form}
        return TemplateResponse(request, "approvals/report.html", context, status=422)
    since, until = span_within(request, *form.moments())
    context = {
        **site_context,
        "form": form,
        **_sums(tenant_id, since, until, form.cleaned_data["gate"]),
    }
    return TemplateResponse(request, "approvals/report.html", context)


def _sums(tenant_id: str, since: datetime, until: datetime, gate: str) -> dict[str, Any]:
    asked = reports.requests_between(tenant_id, since, until, gate)
    votes = reports.votes_between(tenant_id, since, until, gate)
    casts = reports.casts_of(votes)
    people, gates = reports.by_person(casts), reports.by_gate(asked)
    quick = reports.quick_votes(votes)
    attempts = reports.own_attempts(tenant_id, since, until)
    whole = reports.tally_of("", asked)
    return {
        "whole": whole,
        "expired_share": _percent(whole.expired_share),
        "gates": [(line, _percent(line.expired_share)) for line in gates],
        "people": people,
        "quick": [_vote_row(vote) for vote in quick[:LISTED]],
        "quick_count": quick.count(),
        "attempts": [_attempt(event) for event in attempts],
        "vote_count": len(casts),
        "is_cut": max(len(asked), len(casts)) >= MOST,
        "most": MOST,
        "listed": LISTED,
        "opened": timeline(reports.by_day(asked, since, until)),
        "charts": [
            chart("Time to decide", reports.waiting_times(asked)),
            chart("Votes by person", [(line.name, line.votes) for line in people[:20]]),
            chart("Requests by gate", [(line.name, line.opened) for line in gates[:20]]),
        ],
    }


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _vote_row(vote: Any) -> dict[str, Any]:
    waited = (vote.created_at - vote.request.created_at).total_seconds()
    return {
        "approval_id": vote.request_id,
        "url": reverse("admin:approvals_approvalrequest_change", args=[vote.request_id]),
        "gate": vote.request.gate_id,
        "person": str(vote.approver),
        "for": str(vote.on_behalf_of) if vote.on_behalf_of else "",
        "verdict": vote.get_verdict_display(),
        "seen": f"{vote.seconds_seen:.1f} s" if vote.seconds_seen is not None else "not known",
        "waited": f"{waited:.1f} s" if waited < 60 else in_words(waited),
        "at": vote.created_at,
    }


def _attempt(event: AuditEvent) -> dict[str, Any]:
    told = told_by(event)
    return {
        "who": single_line(told.who),
        "gate": single_line(str(told.data.get("gate") or "")),
        "verdict": single_line(str(told.data.get("verdict") or "")),
        "approval_id": event.subject_id,
        "url": reverse("admin:approvals_approvalrequest_change", args=[event.subject_id]),
        "record": admin_url(AuditEvent, "change", event.pk),
        "at": event.created_at,
    }


def chart(title: str, values: Sequence[tuple[str, int]]) -> Chart:
    """Bars from the left, the longest as wide as there is room."""
    most = max((value for _, value in values), default=0) or 1
    bars = [
        Bar(
            label=single_line(name, limit=40),
            value=str(value),
            y=number * _LINE + 18,
            text_y=number * _LINE + 12,
            width=max(2, value * _BAR // most) if value else 0,
            value_x=(max(2, value * _BAR // most) if value else 0) + 8,
        )
        for number, (name, value) in enumerate(values)
    ]
    return Chart(title, tuple(bars), max(1, len(values)) * _LINE, _said(values))


def timeline(values: Sequence[tuple[str, int]]) -> Timeline:
    """Columns side by side, the highest as high as there is room."""
    most = max((value for _, value in values), default=0) or 1
    step = _WIDE // max(1, len(values))
    every = -(-len(values) // 10)
    columns = [
        Column(
            x=number * step + 2,
            y=_HIGH + 16 - value * _HIGH // most,
            width=max(2, min(step - 4, 60)),
            height=value * _HIGH // most,
            middle=number * step + 2 + min(step - 4, 60) // 2,
            value=str(value) if value else "",
            label=name if number % every == 0 else "",
        )
        for number, (name, value) in enumerate(values)
    ]
    return Timeline(tuple(columns), _said(values))


def _said(values: Sequence[tuple[str, int]]) -> str:
    said = [f"{single_line(name, limit=60)}: {value}" for name, value in values if value]
    return "; ".join(said) or "nothing"
