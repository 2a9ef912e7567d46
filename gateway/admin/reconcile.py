"""The reconcile queue: calls of which nobody knows whether they happened, until a person says."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from audit.admin.window import within_window
from audit.decisions import rows_of
from contextos.adminkit.display import mode_badge
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of
from gateway.admin.access import may_read_values, may_settle, tenant_of
from gateway.admin.call_page import pinned_capability
from gateway.admin.frame import frame
from gateway.admin.keyset import page_of
from gateway.admin.labels import age, on_behalf
from gateway.admin.links import call_url
from gateway.admin.people import person_name, with_person
from gateway.admin.values import ShownValue, stored_value
from gateway.models import ToolCall
from gateway.reconcile import LEAST_EVIDENCE, MAX_TEXT, record_outcome, run_again
from gateway.states import CallState

MAX_OUTPUT = 100_000
HAPPENED, DID_NOT, AGAIN = "happened", "did_not_happen", "run_again"
_CHOICES = (
    (HAPPENED, "It happened"),
    (DID_NOT, "It did not happen"),
    (AGAIN, "Run again with the same key"),
)


class OutcomeForm(forms.Form):
    """What a person found out, and how they know."""

    outcome = forms.ChoiceField(
        label="What became of it",
        choices=_CHOICES,
        widget=forms.RadioSelect,
        error_messages={"required": "Choose what you found out."},
    )
    evidence = forms.CharField(
        label="How you know",
        min_length=LEAST_EVIDENCE,
        max_length=MAX_TEXT,
        help_text="Where you looked and what you saw there: a ledger entry, a ticket, a person you "
        "asked. Kept in the record for good, and told to the caller.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={
            "required": "Say how you know; the record rests on it.",
            "min_length": f"Say a little more: at least {LEAST_EVIDENCE} characters.",
        },
    )
    output = forms.CharField(
        label="Result, as JSON",
        required=False,
        max_length=MAX_OUTPUT,
        strip=True,
        help_text="What the call would have answered, if you can tell. It has to match the "
        "capability's output schema, and callers who repeat the call get it.",
        widget=forms.Textarea(attrs={"rows": 6, "class": "reg-json", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, may_run_again: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["outcome"]
        if not may_run_again and isinstance(field, forms.ChoiceField):
            field.choices = [choice for choice in _CHOICES if choice[0] != AGAIN]

    def clean_output(self) -> dict[str, Any] | None:
        """An object or nothing; read as strictly as a caller's own body."""
        text = self.cleaned_data["output"]
        if not text:
            return None
        try:
            return dict(strict_json.loads_object(text))
        except ContextOSError as fault:
            raise forms.ValidationError(f"{fault.message} {fault.remediation}") from fault

    def clean(self) -> dict[str, Any]:
        """Only what happened has a result."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("output") and values.get("outcome") != HAPPENED:
            self.add_error("output", "Only a call that happened has a result. Leave it empty.")
        return values


# --- the queue -----------------------------------------------------------------------------------
def queue_view(request: HttpRequest) -> HttpResponse:
    """Oldest first: the longer nobody looks, the harder it is to find out."""
    tenant_id = tenant_of(request)
    rows = ToolCall.objects.filter(tenant_id=tenant_id, state=CallState.UNKNOWN_OUTCOME)
    rows = within_window(request, rows)
    page = page_of(request, with_person(rows.defer("envelope", "result")), oldest_first=True)
    context = frame(
        request,
        "Reconcile",
        page=page,
        rows=[_row(call) for call in page.rows],
        may_settle=may_settle(request),
    )
    return TemplateResponse(request, "gateway/reconcile.html", context)


def _row(call: Any) -> dict[str, Any]:
    return {
        "url": reverse("admin:gateway_reconcile_call", args=[call.pk]),
        "id": call.pk,
        "capability": reveal_invisible(call.capability_id),
        "mode": mode_badge(call.mode_effective),
        "who": on_behalf(call.agent_id, call.user_name or call.user_id),
        "adapter": reveal_invisible(f"{call.adapter_id}@{call.adapter_version}"),
        "attempts": call.attempts,
        "error": reveal_invisible(call.error_code),
        "since": call.created_at,
        "age": age(call.created_at),
    }


# --- one call ------------------------------------------------------------------------------------
def call_view(request: HttpRequest, tool_call_id: str) -> HttpResponse:
    """What is known, and the form that settles it."""
    call = _call_or_404(request, tool_call_id)
    if call.state != CallState.UNKNOWN_OUTCOME:
        messages.info(request, "The outcome of this call is not unknown any more.")
        return HttpResponseRedirect(call_url(call.pk))
    settles = may_settle(request)
    if request.method == "POST" and not settles:
        raise PermissionDenied
    posted = request.POST if request.method == "POST" else None
    form = OutcomeForm(posted, may_run_again=_may_run_again(call))
    if form.is_bound and form.is_valid() and _settled(request, call, form):
        return HttpResponseRedirect(call_url(call.pk))
    name = reveal_invisible(call.capability_id)
    context = {
        **frame(
            request, f"Reconcile {name}", above=(reverse("admin:gateway_reconcile"), "Reconcile")
        ),
        "call": call,
        "name": name,
        "form": form,
        "may_settle": settles,
        "back": reverse("admin:gateway_reconcile"),
        "call_url": call_url(call.pk),
        **_known(request, call),
    }
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "gateway/reconcile_call.html", context, status=status)


def _call_or_404(request: HttpRequest, tool_call_id: str) -> ToolCall:
    rows = ToolCall.objects.filter(tenant_id=tenant_of(request), pk=tool_call_id)
    rows = within_window(request, rows)
    call = rows.select_related("run").first()
    if call is None:
        raise Http404
    return call


def _settled(request: HttpRequest, call: ToolCall, form: OutcomeForm) -> bool:
    values, actor = form.cleaned_data, actor_of(request)
    where: dict[str, Any] = {
        "tenant_id": call.tenant_id,
        "tool_call_id": call.pk,
        "actor": actor,
    }
    try:
        if values["outcome"] == AGAIN:
            run_again(**where, reason=values["evidence"])
            messages.success(request, "It runs again with the same key.")
        else:
            happened = values["outcome"] == HAPPENED
            record_outcome(
                **where, happened=happened, evidence=values["evidence"], output=values["output"]
            )
            messages.success(request, "Recorded. Callers who repeat the call get this answer.")
    except ContextOSError as refusal:
        place = "output" if refusal.code == "reconcile.output_invalid" else None
        form.add_error(place, f"{refusal.message} {refusal.remediation}")
        return False
    return True


# --- what is known -------------------------------------------------------------------------------
def _known(request: HttpRequest, call: ToolCall) -> dict[str, Any]:
    rows = rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)
    error = rows[-1].get("error") if rows else None
    capability = pinned_capability(call)
    idempotency = (capability.declaration.get("idempotency") or {}) if capability else {}
    return {
        "mode": mode_badge(call.mode_effective),
        "who": on_behalf(call.agent_id, person_name(call.user_id)),
        "may_run_again": _may_run_again(call),
        "error": _error_words(error),
        "key": single_line(_key_of(call)),
        "adapter": reveal_invisible(f"{call.adapter_id}@{call.adapter_version}"),
        "deduplicates": bool(idempotency.get("adapter_dedup")),
        "status_capability": single_line(str(idempotency.get("status_capability") or "")),
        "has_capability": capability is not None,
        "args": _args(request, call, capability.input_schema if capability else None),
    }


def _error_words(error: Any) -> str:
    if not isinstance(error, dict):
        return "none recorded"
    return single_line(f"{error.get('code')}: {error.get('message')}", limit=400)


def _key_of(call: ToolCall) -> str:
    try:
        return str(strict_json.loads_object(call.envelope).get("idempotency_key") or "")
    except ContextOSError:
        return ""


def _may_run_again(call: ToolCall) -> bool:
    """Only where a repeat with the same key can't make a second effect."""
    capability = pinned_capability(call)
    if not call.is_write:
        return capability is not None
    declared = (capability.declaration.get("idempotency") or {}) if capability else {}
    return bool(declared.get("adapter_dedup")) and bool(_key_of(call))


def _args(request: HttpRequest, call: ToolCall, schema: Any) -> ShownValue | None:
    if not may_read_values(request):
        return None
    return stored_value(tenant_id=call.tenant_id, payload_id=call.args_payload, schema=schema)
