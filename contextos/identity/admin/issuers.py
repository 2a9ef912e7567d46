"""Admin pages of trusted issuers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.core.tokens import ALGORITHMS
from contextos.identity import services
from contextos.identity.actors import actor_of
from contextos.identity.admin.tenants import active_badge
from contextos.identity.models import TrustedIssuer

_CHOICES = [(name, name) for name in sorted(ALGORITHMS)]


if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[TrustedIssuer]
else:
    _ModelForm = forms.ModelForm


class KeySetField(forms.JSONField):
    """Empty where nothing was pasted, instead of the word null."""

    def prepare_value(self, value: Any) -> Any:
        """What the box shows."""
        return "" if value is None else super().prepare_value(value)


class IssuerForm(_ModelForm):
    """Algorithms are ticked, not typed."""

    algorithms = forms.MultipleChoiceField(choices=_CHOICES, widget=forms.CheckboxSelectMultiple)


@admin.register(TrustedIssuer)
class TrustedIssuerAdmin(TenantScopedAdmin):
    """Outside issuers whose tokens this tenant accepts."""

    form = IssuerForm
    list_display = ["name", "issuer", "subject_kind", "state"]
    list_filter = ["is_active", "subject_kind"]
    search_fields = ["name", "issuer"]
    fields = [
        "name",
        "issuer",
        "audience",
        "subject_kind",
        "algorithms",
        "jwks_url",
        "jwks",
        "is_active",
    ]
    nav_icon = "verified_user"
    nav_order = 70
    empty_title = "No outside issuer is trusted"
    empty_text = "Trust your identity provider here, and its tokens are accepted beside our own."
    empty_action = ("Trust an issuer", "admin:identity_trustedissuer_add")

    @display(description="State", ordering="is_active")
    def state(self, issuer: TrustedIssuer) -> SafeString:
        """Whether its tokens are accepted."""
        return active_badge(issuer.is_active)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """An address typed without a scheme means https."""
        if db_field.name == "jwks_url":
            kwargs["assume_scheme"] = "https"
        if db_field.name == "jwks":
            kwargs["form_class"] = KeySetField
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another issuer, or one for others, is a new entry."""
        return [] if obj is None else ["issuer", "subject_kind"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A new issuer is trusted from the start."""
        return [name for name in self.fields or () if obj is not None or name != "is_active"]

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> TrustedIssuer:
        """Trust it in the acting tenant."""
        values = form.cleaned_data
        return services.trust_issuer(
            tenant_id=form.instance.tenant.pk,
            issuer=values["issuer"],
            subject_kind=values["subject_kind"],
            actor=actor_of(request),
            **_terms(values),
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> TrustedIssuer:
        """Change its terms, and stop or resume trusting it if that was asked."""
        actor, values = actor_of(request), form.cleaned_data
        row = services.update_issuer(issuer_pk=form.instance.pk, actor=actor, **_terms(values))
        if "is_active" in form.changed_data:
            row = services.set_issuer_active(
                issuer_pk=row.pk, active=values["is_active"], actor=actor
            )
        return row


def _terms(values: dict[str, Any]) -> dict[str, Any]:
    names = ("name", "audience", "algorithms", "jwks_url", "jwks")
    return {name: values[name] for name in names}
