"""The page that cancels a call: what that means, a reason, one button."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from gateway.admin.access import may_settle
from gateway.admin.frame import frame
from gateway.admin.labels import state_badge
from gateway.admin.links import call_url
from gateway.cancelling import cancel_call
from gateway.models import ToolCall
from gateway.states import CallState

MOST_WORDS = 500
_CONSEQUENCES = {
    CallState.PAUSED: "Nobody is asked for approval any more, and nothing is called.",
    CallState.QUEUED: "No worker takes it up; nothing is called.",
    CallState.EXECUTING: (
        "An attempt is under way. It is stopped if its manifest says that it may be; "
        "a write that may have happened by then waits for a person under Reconcile."
    ),
    CallState.WORKING: "The adapter is asked to stop; what it has done so far stays done.",
    CallState.INPUT_REQUIRED: "The adapter is asked to stop; what it has done so far stays done.",
}


class CancelForm(forms.Form):
    """Why."""

    reason = forms.CharField(
        label="Reason",
        max_length=MOST_WORDS,
        help_text="The caller is told this, and it is kept in the log.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say in a sentence why; caller and auditors will read it."},
    )


def cancel_page(request: HttpRequest, call: ToolCall) -> HttpResponse:
    """Ask, and on a reason cancel."""
    if not may_settle(request):
        raise PermissionDenied
    form = CancelForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and _cancelled(request, call, form):
        messages.success(request, "Cancelled, or passed on to whoever works on it.")
        return HttpResponseRedirect(call_url(call.pk))
    name = reveal_invisible(call.capability_id)
    context = frame(
        request,
        f"Cancel {name}",
        above=(call_url(call.pk), name),
        form=form,
        call=call,
        name=name,
        state=state_badge(call.state),
        consequence=_CONSEQUENCES.get(
            CallState(call.state), "It is over; there is nothing to cancel."
        ),
        back=call_url(call.pk),
    )
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "gateway/cancel.html", context, status=status)


def _cancelled(request: HttpRequest, call: ToolCall, form: CancelForm) -> bool:
    try:
        cancel_call(
            tenant_id=call.tenant_id,
            tool_call_id=call.pk,
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return False
    return True
