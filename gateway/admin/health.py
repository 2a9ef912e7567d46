"""Adapter health: how each adapter does, its breaker with a reset, and the terms it runs under."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.models import AuditEvent
from contextos.adminkit.display import Tone, badge
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from gateway.adapter_terms import Terms, set_terms, terms_of
from gateway.admin.access import tenant_of
from gateway.admin.frame import frame
from gateway.admin.health_forms import ResetForm, TermsForm
from gateway.breaker import reset_breaker
from gateway.health import (
    LOOKED_AT,
    AdapterHealth,
    Figures,
    adapter_health,
    adapters_health,
    open_sessions,
)
from gateway.models import Breaker
from gateway.states import BreakerState

_STATES: dict[str, tuple[str, Tone]] = {
    BreakerState.CLOSED: ("closed", "success"),
    BreakerState.OPEN: ("open", "danger"),
    BreakerState.HALF_OPEN: ("half open", "warning"),
}
_TOLD = {
    "gateway.breaker.opened": "Opened",
    "gateway.breaker.closed": "Closed",
    "gateway.adapter_terms.changed": "Terms changed",
}
HISTORY = 10


# --- pages ----------------------------------------------------------------------------------------
def health_view(request: HttpRequest) -> HttpResponse:
    """Every adapter on one page; what is not well stands first."""
    tenant_id = tenant_of(request)
    rows = [_row(health) for health in adapters_health(tenant_id)]
    context = frame(
        request, "Adapter health", rows=rows, looked_at=LOOKED_AT, sessions=open_sessions(tenant_id)
    )
    return TemplateResponse(request, "gateway/health.html", context)


def adapter_health_view(request: HttpRequest, adapter_id: str) -> HttpResponse:
    """One adapter: figures by capability, breaker, terms, what happened to it."""
    tenant_id = tenant_of(request)
    health = adapter_health(tenant_id, adapter_id)
    if health is None:
        raise Http404
    forms_shown = _Forms(request, tenant_id, adapter_id)
    if request.method == "POST" and forms_shown.performed():
        return HttpResponseRedirect(reverse("admin:gateway_adapter_health", args=[adapter_id]))
    context = frame(
        request,
        f"Health of {reveal_invisible(health.name)}",
        above=(reverse("admin:gateway_health"), "Adapter health"),
        row=_row(health),
        health=health,
        capabilities=[_capability(item) for item in health.capabilities],
        history=_history(tenant_id, adapter_id),
        terms=asdict(terms_of(tenant_id, adapter_id)),
        looked_at=LOOKED_AT,
        may_reset=forms_shown.may_reset,
        may_set=forms_shown.may_set,
        reset_form=forms_shown.reset,
        terms_form=forms_shown.terms,
    )
    return TemplateResponse(request, "gateway/health_adapter.html", context)


class _Forms:
    """The two forms of the page; only the one that was sent is bound."""

    def __init__(self, request: HttpRequest, tenant_id: str, adapter_id: str) -> None:
        self._request, self._tenant, self._adapter = request, tenant_id, adapter_id
        self.may_reset = request.user.has_perm("gateway.reset_breaker")
        self.may_set = request.user.has_perm("gateway.change_adapterterms")
        sent = request.POST.get("do") if request.method == "POST" else None
        now = asdict(terms_of(tenant_id, adapter_id))
        self.reset = ResetForm(request.POST if sent == "reset" else None, prefix="reset")
        self.terms = TermsForm(request.POST if sent == "terms" else None, initial=now)

    def performed(self) -> bool:
        """Whether the form that was sent was valid and its service took it."""
        if self.reset.is_bound:
            return self._done(self.may_reset, self.reset, self._reset, "The breaker is closed.")
        done = "The terms hold from the next call on."
        return self._done(self.may_set, self.terms, self._set_terms, done)

    def _done(
        self, may: bool, form: forms.BaseForm, perform: Callable[[dict[str, Any]], None], said: str
    ) -> bool:
        if not may or not form.is_bound:
            raise PermissionDenied
        if not form.is_valid():
            return False
        try:
            perform(form.cleaned_data)
        except ContextOSError as fault:
            form.add_error(None, f"{fault.message} {fault.remediation}")
            return False
        messages.success(self._request, said)
        return True

    def _reset(self, values: dict[str, Any]) -> None:
        reset_breaker(
            tenant_id=self._tenant,
            adapter_id=self._adapter,
            reason=values["reason"],
            actor=actor_of(self._request),
        )

    def _set_terms(self, values: dict[str, Any]) -> None:
        set_terms(
            tenant_id=self._tenant,
            adapter_id=self._adapter,
            terms=Terms(**{name: values[name] for name in Terms.__dataclass_fields__}),
            reason=values["reason"],
            actor=actor_of(self._request),
        )


# --- what is shown --------------------------------------------------------------------------------
def _row(health: AdapterHealth) -> dict[str, Any]:
    return {
        "name": reveal_invisible(health.name),
        "id": reveal_invisible(health.adapter_id),
        "url": reverse("admin:gateway_adapter_health", args=[health.adapter_id]),
        "versions": ", ".join(f"{v.version} in {v.environment}" for v in health.versions),
        "breaker": breaker_badge(health.breaker),
        "is_closed": health.is_closed,
        "probes": _next_probe(health),
        "last_code": health.breaker.last_code if health.breaker else "",
        "held": health.held,
        **_shown(health.figures),
    }


def _next_probe(health: AdapterHealth) -> str:
    """Seconds matter here: the first rest is shorter than a minute."""
    row = health.breaker
    if health.is_closed or row is None or row.retry_at is None:
        return ""
    if row.state == BreakerState.HALF_OPEN:
        return "under way"
    left = (row.retry_at - utcnow()).total_seconds()
    return f"in {left:.0f} s" if left > 0 else "with the next call"


def _capability(item: Any) -> dict[str, Any]:
    rate = item.rate
    return {
        "name": reveal_invisible(item.capability_id),
        "rate": rate and f"{rate.used} of {rate.rate.max} in {rate.rate.per_seconds:g} s",
        "rate_percent": rate and min(100, 100 * rate.used // rate.rate.max),
        **_shown(item.figures),
    }


def _shown(figures: Figures) -> dict[str, Any]:
    share = figures.failure_percent
    return {
        "calls": figures.calls,
        "p50": milliseconds(figures.p50_ms),
        "p95": milliseconds(figures.p95_ms),
        "errors": "" if share is None else f"{share:.1f}".rstrip("0").rstrip(".") + " %",
        "error_tone": "" if not share else ("bad" if share >= 20 else "some"),
        "unknown": figures.unknown,
        "codes": [(reveal_invisible(code), count) for code, count in figures.codes],
        "since": figures.since,
    }


def breaker_badge(breaker: Breaker | None) -> SafeString:
    """The state in words; one that never failed is closed."""
    words, tone = _STATES[breaker.state if breaker else BreakerState.CLOSED]
    return badge(words, tone)


def milliseconds(value: float | None) -> str:
    """Short enough for a table."""
    if value is None:
        return ""
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms"


def _history(tenant_id: str, adapter_id: str) -> list[dict[str, Any]]:
    events = AuditEvent.objects.filter(
        tenant_id=tenant_id, subject_kind="adapter", subject_id=adapter_id, action__in=_TOLD
    ).order_by("-event_id")[:HISTORY]
    return [_happened(event) for event in events]


def _happened(event: AuditEvent) -> dict[str, Any]:
    said: dict[str, Any] = strict_json.loads_object(event.text)
    return {
        "what": _TOLD[event.action],
        "who": reveal_invisible(str(said["actor"]["display"])),
        "why": reveal_invisible(str(said.get("reason") or "")),
        "at": event.created_at,
        "url": reverse("admin:audit_auditevent_change", args=[event.pk]),
    }
