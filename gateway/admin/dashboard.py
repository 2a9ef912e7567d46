"""The dashboard: how governed calls do over a range of time, by adapter and capability (E5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.identity.access import roles_of
from gateway.admin.access import tenant_of
from gateway.admin.dashboard_charts import charts_of
from gateway.admin.dashboard_figures import cards_of, lines_of
from gateway.admin.frame import frame
from gateway.figures.asking import LONGEST, range_for
from gateway.figures.boards import board, budget_use
from gateway.figures.spans import Range, range_of
from registry.models import Capability
from registry.selectors import catalogue

USUAL = "24h"
PRESETS = {
    "1h": ("Last hour", timedelta(hours=1)),
    "24h": ("Last 24 hours", timedelta(hours=24)),
    "7d": ("Last 7 days", timedelta(days=7)),
    "30d": ("Last 30 days", timedelta(days=30)),
}
_WRITTEN = "%Y-%m-%dT%H:%M"


class RangeForm(forms.Form):
    """From when to when, in UTC, and of which adapter or capability."""

    since = forms.DateTimeField(
        label="From (UTC)",
        required=False,
        input_formats=[_WRITTEN, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_WRITTEN),
    )
    until = forms.DateTimeField(
        label="To (UTC)",
        required=False,
        input_formats=[_WRITTEN, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_WRITTEN),
    )
    adapter = forms.CharField(label="Adapter", required=False, max_length=100)
    capability = forms.CharField(label="Capability", required=False, max_length=200)

    def clean_since(self) -> datetime | None:
        """What is written is meant in UTC, whatever the site's time zone is."""
        return _in_utc(self.cleaned_data["since"])

    def clean_until(self) -> datetime | None:
        """The same."""
        return _in_utc(self.cleaned_data["until"])

    def clean(self) -> dict[str, Any]:
        """A start before the end, not more than a year apart."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        start, end = values.get("since"), values.get("until") or utcnow()
        if start and start >= end:
            self.add_error("until", "The end lies before the start.")
        elif start and end - start > LONGEST:
            self.add_error("until", "Choose a year at most.")
        return values


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for."""

    preset: str
    since: datetime
    until: datetime
    adapter_id: str
    capability_id: str

    def query(self, **changes: str) -> str:
        """The address of the same page with something changed."""
        kept = {"adapter": self.adapter_id, "capability": self.capability_id, **self._times()}
        given = {name: value for name, value in {**kept, **changes}.items() if value}
        return f"?{urlencode(given)}"

    def _times(self) -> dict[str, str]:
        if self.preset:
            return {"range": self.preset}
        return {"since": f"{self.since:{_WRITTEN}}", "until": f"{self.until:{_WRITTEN}}"}


def dashboard_view(request: HttpRequest) -> HttpResponse:
    """Figures, charts and a table for the range that was asked for."""
    tenant_id = tenant_of(request)
    form = RangeForm(_shown(request))
    if not form.is_valid():
        return _refused(request, form, "", 422)
    asked = _asked(request, form.cleaned_data)
    try:
        span = _range(request, tenant_id, asked)
    except ContextOSError as refusal:
        return _refused(request, form, f"{refusal.message} {refusal.remediation}", 403)
    found = board(tenant_id, span, adapter_id=asked.adapter_id, capability_id=asked.capability_id)
    budget = budget_use(tenant_id, span)
    context = frame(
        request,
        "Dashboard",
        form=form,
        asked=asked,
        presets=_presets(asked),
        board=found,
        shown=span,
        cards=cards_of(found, budget),
        lines=lines_of(found, asked),
        charts=charts_of(found),
        names=_names(tenant_id),
        is_empty=not found.lines,
        everything=asked.query(adapter="", capability=""),
    )
    return TemplateResponse(request, "gateway/dashboard.html", context)


def _refused(request: HttpRequest, form: RangeForm, why: str, status: int) -> HttpResponse:
    context = frame(request, "Dashboard", form=form, refusal=why, presets=_presets(None))
    return TemplateResponse(request, "gateway/dashboard.html", context, status=status)


def _shown(request: HttpRequest) -> dict[str, Any]:
    return {name: request.GET.get(name, "") for name in RangeForm.base_fields}


def _asked(request: HttpRequest, values: dict[str, Any]) -> Asked:
    now = utcnow()
    preset = request.GET.get("range", "")
    if preset not in PRESETS:
        preset = "" if values["since"] or values["until"] else USUAL
    until = now if preset else values["until"] or now
    since = until - PRESETS[preset or USUAL][1]
    if not preset:
        since = values["since"] or since
    return Asked(preset, since, until, values["adapter"], values["capability"])


def _range(request: HttpRequest, tenant_id: str, asked: Asked) -> Range:
    span = range_of(asked.since, asked.until, now=utcnow())
    user: Any = request.user
    roles = frozenset() if user.is_superuser else frozenset(roles_of(user, tenant_id))
    return range_for(user, roles, tenant_id, span)


def _presets(asked: Asked | None) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "words": words,
            "url": asked.query(range=key, since="", until="") if asked else f"?range={key}",
            "is_chosen": asked is not None and asked.preset == key,
        }
        for key, (words, _) in PRESETS.items()
    ]


def _names(tenant_id: str) -> dict[str, list[str]]:
    """What can be chosen: what is published now; older names can still be typed."""
    rows: list[Capability] = list(
        catalogue(tenant_id)
        .select_related("version__adapter")
        .only("capability_id", "version__adapter__adapter_id")[:500]
    )
    return {
        "adapters": sorted({row.version.adapter.adapter_id for row in rows}),
        "capabilities": sorted({row.capability_id for row in rows}),
    }


def _in_utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(tzinfo=UTC)
