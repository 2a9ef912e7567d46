"""The page on which a reviewer corrects the mode of a call: what was declared, what it did, why."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from contextos.adminkit.display import mode_badge
from contextos.core.modes import ApprovalMode
from contextos.identity.actors import actor_of
from gateway.admin.access import may_correct_modes
from gateway.admin.call_question import CallQuestion, ask_about
from gateway.mode_corrections import MAX_REASON, correct_mode, declared_mode
from gateway.models import ToolCall

_WORDS = {
    ApprovalMode.READ_ONLY: "read only: it changed nothing",
    ApprovalMode.LOCAL_WRITE: "local write: it changed something of ours that can be undone",
    ApprovalMode.NETWORK: "network: it reached somebody outside",
    ApprovalMode.DELEGATED: "delegated: it acted in a person's name",
    ApprovalMode.DESTRUCTIVE: "destructive: it can't be undone",
}


class CorrectionForm(forms.Form):
    """The mode that fits, and why."""

    mode = forms.ChoiceField(label="What the call really did")
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="What you saw, and where. It is kept in the log.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say what the call did that its mode does not cover."},
    )

    def __init__(self, *args: object, declared: ApprovalMode, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["mode"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [(m.value, _WORDS[m]) for m in ApprovalMode if m is not declared]


def correct_mode_page(request: HttpRequest, call: ToolCall) -> HttpResponse:
    """Ask, and on a reason record."""
    if not may_correct_modes(request):
        raise PermissionDenied
    declared = declared_mode(call)
    question = CallQuestion(
        title="Correct the mode of {}",
        icon="rule_settings",
        asks="Did {} do what its mode says?",
        standing=format_html("Declared: {}", mode_badge(declared.value)),
        consequences=(
            "It is recorded with your name, once for this call, and shown to auditors.",
            "A mode above the declared one counts as misclassified on the dashboard.",
            (
                "The capability stays as it is: correct its manifest in a new version, or stop it "
                "with a kill switch."
            ),
        ),
        button="Record the correction",
        done="Recorded. The adapter's next version should declare it so.",
    )
    form = CorrectionForm(request.POST if request.method == "POST" else None, declared=declared)
    whose: dict[str, Any] = {
        "tenant_id": call.tenant_id,
        "tool_call_id": call.pk,
        "actor": actor_of(request),
    }
    return ask_about(
        request,
        call,
        question,
        form,
        lambda said: correct_mode(**whose, mode=ApprovalMode(said["mode"]), reason=said["reason"]),
    )
