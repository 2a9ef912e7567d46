"""Shows that a value is the one a record commits to, and gives a salt to who may see it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from audit.admin.keeping import frame
from audit.admin.window import is_only_auditor, require_within, window_for
from audit.clearance import CLASS_OF_VALUES
from audit.matching import ReleasedSalt, compare_value, release_salt, stored_values
from audit.models import Payload
from audit.payloads import MAX_DEPTH
from audit.roles import SALT_READERS
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.identity.access import roles_of
from contextos.identity.actors import actor_of

MOST_TEXT = 200_000


class _ChosenForm(forms.Form):
    payload = forms.ChoiceField(label="Which value")

    def __init__(self, *args: Any, rows: list[Payload], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["payload"]
        if isinstance(field, forms.ChoiceField):
            kept = [row for row in rows if row.erased_at is None]
            field.choices = [(row.pk, f"{row.kind} · {row.pk}") for row in kept]


class ValueForm(_ChosenForm):
    """The value that somebody says it was."""

    value = forms.CharField(
        label="Value, as JSON",
        max_length=MOST_TEXT,
        help_text="Spaces and the order of members do not matter. Each comparison is recorded.",
        widget=forms.Textarea(attrs={"rows": 6, "class": "reg-json", "spellcheck": "false"}),
    )

    def clean_value(self) -> Any:
        """Read as strictly as a caller's own body."""
        try:
            return strict_json.loads(self.cleaned_data["value"], max_depth=MAX_DEPTH)
        except ContextOSError as fault:
            raise forms.ValidationError(f"{fault.message} {fault.remediation}") from fault


class SaltForm(_ChosenForm):
    """For whom."""

    reason = forms.CharField(
        label="For whom and what for",
        max_length=500,
        help_text="Whoever has the salt can check the value alone, and try others. It is recorded.",
    )


def match_view(request: HttpRequest, decision_id: str) -> HttpResponse:
    """The commitments of a decision, a comparison, a salt."""
    tenant_id = acting_tenant_id(request)
    if not may_see_salts(request, tenant_id):
        raise PermissionDenied
    rows = stored_values(tenant_id=tenant_id, decision_id=decision_id)
    if not rows:
        raise Http404
    require_within(request, *(row.created_at for row in rows))
    step = request.POST.get("step") if request.method == "POST" else ""
    value_form = ValueForm(request.POST if step == "compare" else None, rows=rows, prefix="v")
    salt_form = SaltForm(request.POST if step == "release" else None, rows=rows, prefix="s")
    context = {
        **frame(request, "Show that a value matches"),
        "decision_id": decision_id,
        "rows": rows,
        "has_values": any(row.erased_at is None for row in rows),
        "value_form": value_form,
        "salt_form": salt_form,
        "compared": _compared(request, tenant_id, value_form),
        "released": _released(request, tenant_id, salt_form),
    }
    faulty = any(form.is_bound and form.errors for form in (value_form, salt_form))
    return TemplateResponse(request, "audit/match.html", context, status=422 if faulty else 200)


def _compared(request: HttpRequest, tenant_id: str, form: ValueForm) -> bool | None:
    if not form.is_bound or not form.is_valid():
        return None
    try:
        return compare_value(
            tenant_id=tenant_id,
            payload_id=form.cleaned_data["payload"],
            value=form.cleaned_data["value"],
            actor=actor_of(request),
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return None


def _released(request: HttpRequest, tenant_id: str, form: SaltForm) -> ReleasedSalt | None:
    if not form.is_bound or not form.is_valid():
        return None
    try:
        return release_salt(
            tenant_id=tenant_id,
            payload_id=form.cleaned_data["payload"],
            reason=form.cleaned_data["reason"],
            actor=actor_of(request),
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return None


def may_see_salts(request: HttpRequest, tenant_id: str) -> bool:
    """Whoever may read values: with a salt one can try them out."""
    if is_only_auditor(request):
        return window_for(request).reads(CLASS_OF_VALUES)
    if request.user.is_active and request.user.is_superuser:
        return True
    return not SALT_READERS.isdisjoint(roles_of(request.user, tenant_id))
