"""Admin pages of credentials: what each adapter is shown, without ever showing it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.clock import utcnow
from contextos.identity.actors import actor_of
from gateway.admin.credential_forms import (
    KIND_WORDS,
    CredentialForm,
    RotationForm,
    fields_of,
    place_choices,
    secret_of,
)
from gateway.admin.filters import InUseFilter
from gateway.admin.frame import frame
from gateway.admin.labels import stacked
from gateway.consents.trips import redirect_uri
from gateway.credentials import services
from gateway.credentials.shape import NEEDED, OAUTH, has_secret
from gateway.models import AdapterCredential, CredentialKind

SOON_DAYS = 30


@admin.register(AdapterCredential)
class AdapterCredentialAdmin(TenantScopedAdmin):
    """Per adapter and environment; the narrowest that fits is used."""

    class Media:
        css = {"all": ["contextos/gateway.css"]}

    form = CredentialForm
    list_display = ["name", "place", "kind", "secret_mark", "state", "last_change"]
    list_filter = [InUseFilter, "environment", "kind"]
    search_fields = ["name", "adapter_id", "capability_id", "client_id"]
    actions_detail = ["rotate", "end_overlap", "revoke"]
    nav_title = "Credentials"
    nav_icon = "key"
    nav_order = 70
    empty_title = "No credentials yet"
    empty_text = (
        "What an adapter's far side asks for, per environment. ContextOS shows it just before a "
        "call leaves; callers never see it, and their own tokens are never passed on."
    )
    empty_action = ("Add a credential", "admin:gateway_adaptercredential_add")

    # --- columns ------------------------------------------------------------------------------
    @display(description="Used for", ordering="adapter_id")
    def place(self, row: AdapterCredential) -> SafeString:
        """Adapter or capability, and where."""
        return stacked(row.capability_id or row.adapter_id, row.environment)

    @display(description="Secret")
    def secret_mark(self, row: AdapterCredential) -> str:
        """A fingerprint; the secret itself is never shown."""
        return row.fingerprint or "none"

    @display(description="State")
    def state(self, row: AdapterCredential) -> SafeString:
        """What somebody should know of it."""
        now = utcnow()
        if row.revoked_at is not None:
            return badge("revoked", "neutral")
        if row.secret_ends_at is not None and row.secret_ends_at <= now:
            return badge("certificate expired", "danger")
        if row.previous_used_at is not None and row.previous_until is not None:
            return badge("new secret refused", "danger")
        if row.secret_ends_at is not None and (row.secret_ends_at - now).days < SOON_DAYS:
            return badge("certificate ends soon", "warning")
        if row.previous_until is not None and row.previous_until > now:
            return badge("in overlap", "info")
        return badge("in use", "success")

    @display(description="Last change", ordering="rotated_at")
    def last_change(self, row: AdapterCredential) -> SafeString:
        """When its secret was last changed."""
        return when(row.rotated_at or row.created_at)

    @display(description="Secret before")
    def before(self, row: AdapterCredential) -> str:
        """Until when it still helps out, and whether it has to."""
        if row.sealed_previous is None:
            return "none"
        used = ", used because the new one was refused" if row.previous_used_at else ""
        return f"{row.previous_fingerprint}, until {row.previous_until:%Y-%m-%d %H:%M} UTC{used}"

    @display(description="Redirect address")
    def redirect_address(self, row: AdapterCredential) -> SafeString:
        """What the authorization server has to know, before anybody can consent."""
        return stacked(redirect_uri(), "Register it at the authorization server, letter by letter.")

    @display(description="Reference in records")
    def reference(self, row: AdapterCredential) -> str:
        """With the version of the secret."""
        return row.ref

    # --- forms --------------------------------------------------------------------------------
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The kind first: each needs something else."""
        if request.GET.get("kind") not in CredentialKind.values and self.has_add_permission(
            request
        ):
            kinds = [
                {"value": kind.value, "label": kind.label, "icon": icon, "words": words}
                for kind, (icon, words) in KIND_WORDS.items()
            ]
            context = frame(request, "Add a credential", kinds=kinds, opts=self.opts)
            return TemplateResponse(request, "gateway/credential_kinds.html", context)
        chosen = dict(CredentialKind.choices).get(request.GET.get("kind", ""), "")
        title = {"title": f"Add a credential: {chosen}"}
        return super().add_view(request, form_url, {**(extra_context or {}), **title})

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """What the kind needs; of one that exists, what is kept."""
        if obj is None:
            chosen = fields_of(request.GET.get("kind", ""))
            return [(title, {"fields": names}) for title, names in chosen]
        settings = [
            name
            for title, names in fields_of(obj.kind)
            for name in names
            if name not in ("secret", "name", "environment", "adapter_id", "capability_id")
        ]
        used = ["name", "kind", "environment", "adapter_id", "capability_id"]
        kept = ["state", "reference", "secret_mark", "before", "rotated_at", "created_at"]
        kept += ["secret_ends_at"] if obj.kind == CredentialKind.MTLS else []
        sections = [("Where it is used", used), ("How it is used", settings), ("Secret", kept)]
        return [(title, {"fields": names}) for title, names in sections if names]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """What decides where the secret goes is fixed: changing it means entering it anew."""
        if obj is None:
            return ["redirect_address"]
        names = [name for _, part in self.get_fieldsets(request, obj) for name in part["fields"]]
        changeable = () if obj.revoked_at is not None else services.CHANGEABLE
        return [name for name in names if name not in changeable]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The places of this tenant to choose from, and the right box for the secret."""
        if obj is not None:  # its place and its secret are not entered again
            kwargs["form"] = forms.ModelForm
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        if obj is None:
            for name, choices in place_choices(acting_tenant(request)).items():
                if name in form.base_fields:
                    form.base_fields[name].choices = choices
            for name in NEEDED.get(request.GET.get("kind", ""), ()):
                form.base_fields[name].required = True
            if "secret" in form.base_fields:
                kind = request.GET.get("kind", "")
                form.base_fields["secret"] = secret_of(kind, required=kind not in OAUTH)
        return form

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> AdapterCredential:
        """Keep it for the acting tenant."""
        return services.add_credential(
            tenant_id=form.instance.tenant.pk,
            kind=request.GET["kind"],
            actor=actor_of(request),
            **form.cleaned_data,
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> AdapterCredential:
        """Change what may be changed without the secret."""
        return services.update_credential(
            credential_id=form.instance.pk, actor=actor_of(request), **form.cleaned_data
        )

    # --- buttons ------------------------------------------------------------------------------
    def has_rotate_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Where there is a secret."""
        row = self._in_use(request, object_id)
        return row is not None and has_secret(row)

    def has_end_overlap_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Where there is one before it."""
        row = self._in_use(request, object_id)
        return row is not None and row.sealed_previous is not None

    def has_revoke_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """As long as it is in use."""
        return self._in_use(request, object_id) is not None

    def _in_use(self, request: HttpRequest, object_id: Any) -> AdapterCredential | None:
        row: AdapterCredential | None = self.get_object(request, str(object_id))
        if row is None or row.revoked_at is not None:
            return None
        return row if self.has_change_permission(request, row) else None

    @action(description="Rotate the secret", permissions=["rotate"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A new secret from now on."""
        row = self._row(request, object_id)
        question = Question(
            title="Rotate the secret",
            text="The new secret is used from the next call on. Tokens got with the old one are "
            "not used any more.",
            button="Rotate it",
            done="Rotated. The next call shows the new secret.",
            form_class=RotationForm,
            form_arguments={"kind": row.kind},
        )
        actor = actor_of(request)
        return confirm(
            self,
            request,
            row,
            question,
            lambda values: services.rotate_credential(credential_id=row.pk, actor=actor, **values),
        )

    @action(description="End the overlap", permissions=["end_overlap"])
    def end_overlap(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Forget the secret before the rotation."""
        row = self._row(request, object_id)
        question = Question(
            title="End the overlap",
            text="The secret before the last rotation is forgotten now. If the far side does not "
            "take the new one yet, calls fail.",
            button="Forget the old secret",
            done="The old secret is forgotten.",
            form_class=forms.Form,
        )
        actor = actor_of(request)
        return confirm(
            self,
            request,
            row,
            question,
            lambda _: services.end_overlap(credential_id=row.pk, actor=actor),
        )

    @action(description="Revoke", permissions=["revoke"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Never again."""
        row = self._row(request, object_id)
        question = Question(
            title="Revoke this credential",
            text="Its secret is deleted, and so is what people consented to for it. Calls of its "
            "adapter fail until there is another credential. Revoke it at the far side as well.",
            button="Revoke it",
            done="Revoked; its secret is deleted.",
        )
        actor = actor_of(request)
        return confirm(
            self,
            request,
            row,
            question,
            lambda values: services.revoke_credential(credential_id=row.pk, actor=actor, **values),
        )

    def _row(self, request: HttpRequest, object_id: str) -> AdapterCredential:
        row: AdapterCredential | None = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row
