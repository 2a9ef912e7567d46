"""The page that cancels a call: what that means, a reason, one button."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from contextos.identity.actors import actor_of
from gateway.admin.access import may_settle
from gateway.admin.call_question import CallQuestion, ask_about
from gateway.admin.labels import state_badge
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
    over = "It is over; there is nothing to cancel."
    question = CallQuestion(
        title="Cancel {}",
        icon="cancel",
        asks="Cancel this call of {}?",
        standing=state_badge(call.state),
        consequences=(
            _CONSEQUENCES.get(CallState(call.state), over),
            "The caller reads your reason in the result.",
            "It is recorded with your name.",
        ),
        button="Cancel the call",
        done="Cancelled, or passed on to whoever works on it.",
        is_grave=True,
    )
    form = CancelForm(request.POST if request.method == "POST" else None)
    whose: dict[str, Any] = {
        "tenant_id": call.tenant_id,
        "tool_call_id": call.pk,
        "actor": actor_of(request),
    }
    return ask_about(request, call, question, form, lambda said: cancel_call(**whose, **said))
