"""The page of the log itself: how far it is signed, by which keys, its copies, checks of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from audit.admin.keeping import frame
from audit.lag import sealing_lags
from audit.log import latest_checkpoint, tree_size_of
from audit.log_checks import request_check
from audit.log_keys import state_of
from audit.models import LogCheck, OutsideMark, UnsealedLeaf
from audit.outside.sending import FILES
from contextos.adminkit.display import Tone, badge
from contextos.adminkit.links import may
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.signing import KeyPurpose
from contextos.identity.actors import actor_of
from contextos.identity.keyring import key_store

SHOWN = 10
_KEY_TONES: dict[str, Tone] = {"active": "success", "retired": "neutral", "revoked": "danger"}
_KEY_NOTES = {
    "active": "signs every checkpoint now",
    "retired": "what it signed still counts",
    "revoked": "what it signed counts only below a checkpoint by a good key",
}


class CheckForm(forms.Form):
    """Which part of the log is read in full; the signatures over all of it are always checked."""

    first = forms.IntegerField(
        label="From index",
        required=False,
        min_value=0,
        widget=forms.NumberInput(attrs={"placeholder": "the first"}),
    )
    last = forms.IntegerField(
        label="Up to index",
        required=False,
        min_value=1,
        widget=forms.NumberInput(attrs={"placeholder": "the end"}),
    )

    def clean(self) -> dict[str, Any]:
        """A range that holds something."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        first, last = given.get("first") or 0, given.get("last")
        if last is not None and last <= first:
            self.add_error("last", "The range ends before it begins.")
        return given


@dataclass(frozen=True, slots=True)
class Copy:
    """One place outside the database, and how far behind it is."""

    name: str
    mark: OutsideMark
    behind: int


def log_view(request: HttpRequest) -> HttpResponse:
    """All about the log of the tenant at hand; a POST has it checked."""
    if not may(request, "view", LogCheck):
        raise PermissionDenied
    form = CheckForm(request.POST if request.method == "POST" else None)
    if form.is_bound:
        answer = _ask(request, form)
        if answer is not None:
            return answer
    context = frame(request, "The log", form=form, **_facts(acting_tenant_id(request)))
    context["may_check"] = may(request, "add", LogCheck)
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "audit/log.html", context, status=status)


def check_progress_view(request: HttpRequest, check_id: str) -> HttpResponse:
    """How far a check is, for the page that follows it."""
    if not may(request, "view", LogCheck):
        raise PermissionDenied
    check = LogCheck.objects.filter(tenant_id=acting_tenant_id(request), pk=check_id).first()
    if check is None:
        raise Http404
    return JsonResponse({"state": check.state, "percent": check.percent, "rows": check.done})


def _ask(request: HttpRequest, form: CheckForm) -> HttpResponse | None:
    if not may(request, "add", LogCheck):
        raise PermissionDenied
    if not form.is_valid():
        return None
    given = form.cleaned_data
    try:
        request_check(
            tenant_id=acting_tenant_id(request),
            first=given["first"] or 0,
            last=given["last"],
            actor=actor_of(request),
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return None
    messages.success(request, "The log is being checked; this page follows it.")
    return HttpResponseRedirect(reverse("admin:audit_log"))


def _facts(tenant_id: str) -> dict[str, Any]:
    size = tree_size_of(tenant_id)
    lags = sealing_lags(tenant_id=tenant_id)
    checks = list(LogCheck.objects.filter(tenant_id=tenant_id)[:SHOWN])
    return {
        "size": size,
        "checkpoint": latest_checkpoint(tenant_id=tenant_id),
        "waiting": UnsealedLeaf.objects.filter(tenant_id=tenant_id).count(),
        "lag": lags[0] if lags else None,
        "now": utcnow(),
        "keys": _keys(),
        "copies": _copies(tenant_id, size),
        "running": next((check for check in checks if check.is_open), None),
        "checks": [(check, _verdict(check)) for check in checks if not check.is_open],
    }


def _keys() -> list[dict[str, Any]]:
    """Newest first: the one that signs stands at the top."""
    records = sorted(
        key_store().keys(KeyPurpose.LOG), key=lambda record: record.created_at, reverse=True
    )
    return [
        {
            "kid": record.key.kid,
            "since": record.created_at,
            "badge": badge(state_of(record), _KEY_TONES[state_of(record)]),
            "note": _KEY_NOTES[state_of(record)],
        }
        for record in records
    ]


def _copies(tenant_id: str, size: int) -> list[Copy]:
    marks = OutsideMark.objects.filter(tenant_id=tenant_id).order_by("sink")
    return [
        Copy(
            "Files of the sealer" if mark.sink == FILES else mark.sink, mark, size - mark.tree_size
        )
        for mark in marks
    ]


def _verdict(check: LogCheck) -> str:
    if check.is_sound:
        return badge("as signed", "success")
    return badge("broke off", "warning") if check.fault else badge("NOT as signed", "danger")
