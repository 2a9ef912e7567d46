"""Admin pages of issued tokens: issue, show once, list, revoke."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import Tone, badge, mode_badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode
from contextos.identity import services
from contextos.identity.actors import actor_of
from contextos.identity.durations import parse_duration
from contextos.identity.models import Agent, IssuedToken, Membership, Tenant, User
from contextos.identity.services import IssuedGrant

_TONES: dict[str, Tone] = {"active": "success", "expired": "neutral", "revoked": "danger"}
_PIECE = 24
_MODES = [
    ("", "the highest allowed"),
    *((m.value, m.value.replace("_", " ")) for m in ApprovalMode),
]


class IssueForm(forms.Form):
    """The terms of a new token; exactly one of agent and person."""

    agent = forms.ModelChoiceField(Agent.objects.none(), required=False)
    person = forms.ModelChoiceField(User.objects.none(), required=False)
    lifetime = forms.CharField(initial="1h", help_text="Such as 15m, 1h or 7d; at most 30d.")
    max_mode = forms.ChoiceField(label="Highest mode", choices=_MODES, required=False)
    scopes = forms.CharField(
        required=False,
        label="Narrow to capabilities",
        help_text="Capability ids, separated by commas. Empty: not narrowed.",
    )

    def __init__(self, *args: Any, tenant: Tenant, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        people = Membership.objects.current().filter(tenant=tenant).values("user")
        self._choose("agent", Agent.objects.filter(tenant=tenant, is_active=True))
        self._choose("person", User.objects.filter(pk__in=people))

    def _choose(self, name: str, rows: Any) -> None:
        field: Any = self.fields[name]
        field.queryset = rows
        field.empty_label = "nobody"

    def clean_lifetime(self) -> timedelta:
        """As typed on the command line."""
        try:
            return parse_duration(self.cleaned_data["lifetime"])
        except ValueError as fault:
            raise forms.ValidationError(f"{str(fault).capitalize()}.") from fault

    def clean_scopes(self) -> list[str] | None:
        """Empty means not narrowed, which is not the same as narrowed to nothing."""
        words = [word.strip() for word in self.cleaned_data["scopes"].split(",") if word.strip()]
        return words or None

    def clean(self) -> dict[str, Any]:
        """A token speaks for one."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if bool(values.get("agent")) == bool(values.get("person")):
            raise forms.ValidationError("Choose either an agent or a person.")
        return values


@admin.register(IssuedToken)
class IssuedTokenAdmin(TenantScopedAdmin):
    """Tokens by their id; the token itself is stored nowhere and shown nowhere."""

    list_display = ["token_id", "subject_label", "kind", "highest_mode", "shown_state", "expires"]
    list_filter = ["kind", "max_mode"]
    search_fields = ["token_id", "subject", "subject_label"]
    fields = [
        "token_id",
        "kind",
        "subject",
        "subject_label",
        "shown_state",
        "narrowed_to",
        "highest_mode",
        "signing_key",
        "issued_by",
        "issued_at",
        "expires_at",
        "revoked_at",
        "revoked_by",
        "revoke_reason",
    ]
    readonly_fields = ["shown_state", "narrowed_to", "highest_mode", "signing_key"]
    actions_detail = ["revoke"]
    nav_title = "Tokens"
    nav_icon = "key"
    nav_order = 80
    empty_title = "No tokens yet"
    empty_text = "Issue one for an agent here, or with `manage.py issue_token`."
    empty_action = ("Issue a token", "admin:identity_issuedtoken_add")

    @display(description="State")
    def shown_state(self, token: IssuedToken) -> SafeString:
        """Active, expired or revoked."""
        return badge(token.state, _TONES[token.state])

    @display(description="Narrowed to")
    def narrowed_to(self, token: IssuedToken) -> str:
        """The capabilities it is good for."""
        return "not narrowed" if token.scopes is None else ", ".join(token.scopes) or "nothing"

    @display(description="Signed with key")
    def signing_key(self, token: IssuedToken) -> str:
        """As published under /.well-known/jwks.json."""
        return token.kid

    @display(description="Highest mode", ordering="max_mode")
    def highest_mode(self, token: IssuedToken) -> SafeString:
        """What it may reach."""
        return mode_badge(token.max_mode)

    @display(description="Expires", ordering="expires_at")
    def expires(self, token: IssuedToken) -> SafeString:
        """How long it lasts."""
        return when(token.expires_at)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Adding is issuing, on a page of its own."""
        return self.allows(request, "add")

    @method_decorator(never_cache)
    @sensitive_variables("grant", "parts")
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Ask for the terms, issue, and show the token this once."""
        tenant = acting_tenant(request)
        if not isinstance(tenant, Tenant) or not self.has_add_permission(request):
            raise PermissionDenied
        form = IssueForm(request.POST if request.method == "POST" else None, tenant=tenant)
        grant = self._issue(request, tenant, form) if form.is_bound and form.is_valid() else None
        if grant is not None:
            parts = _breakable(grant.token)
            return self._page(
                request, "token_issued", "Token issued", row=grant.row, token_parts=parts
            )
        return self._page(request, "issue_token", "Issue a token", form=form)

    def _issue(self, request: HttpRequest, tenant: Tenant, form: IssueForm) -> IssuedGrant | None:
        values = form.cleaned_data
        terms: dict[str, Any] = {
            "tenant_id": tenant.pk,
            "actor": actor_of(request),
            "lifetime": values["lifetime"],
            "scopes": values["scopes"],
            "max_mode": values["max_mode"] or None,
        }
        try:
            if values["agent"]:
                return services.issue_agent_token(agent_id=values["agent"].agent_id, **terms)
            return services.issue_user_token(user=values["person"], **terms)
        except ContextOSError as refusal:
            form.add_error(None, f"{refusal.message} {refusal.remediation}")
            return None

    def _page(
        self, request: HttpRequest, template: str, title: str, **context: Any
    ) -> HttpResponse:
        shell = self.admin_site.each_context(request)
        back = reverse("admin:identity_issuedtoken_changelist")
        page = {**shell, "opts": self.opts, "title": title, "back": back, **context}
        return TemplateResponse(request, f"identity/{template}.html", page)

    def has_revoke_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators may revoke without being allowed to issue."""
        return request.user.has_perm("identity.revoke_issuedtoken")

    @action(description="Revoke", permissions=["revoke"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Useless from the next call on."""
        token = self.get_object(request, object_id)
        if not isinstance(token, IssuedToken):
            raise Http404
        question = Question(
            title="Revoke the token",
            text="From the next call on it is refused, everywhere. This can't be taken back.",
            button="Revoke",
            done="The token is revoked.",
        )
        return confirm(
            self,
            request,
            token,
            question,
            lambda given: services.revoke_token(
                token_id=token.pk, actor=actor_of(request), reason=given["reason"]
            ),
        )

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """No button for what is revoked already."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        token = self.get_object(request, str(object_id))
        return found if token is not None and token.revoked_at is None else []


def _breakable(token: str) -> list[str]:
    """Pieces between which a browser may break the line."""
    return [token[start : start + _PIECE] for start in range(0, len(token), _PIECE)]
