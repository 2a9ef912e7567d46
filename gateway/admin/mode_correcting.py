"""The page on which a reviewer corrects the mode of a call: what was declared, what it did, why."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from contextos.adminkit.display import mode_badge
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from gateway.admin.access import may_correct_modes
from gateway.admin.frame import frame
from gateway.admin.links import call_url
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
    form = CorrectionForm(request.POST if request.method == "POST" else None, declared=declared)
    if form.is_bound and form.is_valid() and _corrected(request, call, form):
        messages.success(request, "Recorded. The adapter's next version should declare it so.")
        return HttpResponseRedirect(call_url(call.pk))
    name = reveal_invisible(call.capability_id)
    context = frame(
        request,
        f"Correct the mode of {name}",
        above=(call_url(call.pk), name),
        form=form,
        call=call,
        name=name,
        declared=mode_badge(declared.value),
        back=call_url(call.pk),
    )
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "gateway/correct_mode.html", context, status=status)


def _corrected(request: HttpRequest, call: ToolCall, form: CorrectionForm) -> bool:
    try:
        correct_mode(
            tenant_id=call.tenant_id,
            tool_call_id=call.pk,
            mode=ApprovalMode(form.cleaned_data["mode"]),
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return False
    return True
