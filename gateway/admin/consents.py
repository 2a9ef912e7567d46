"""Admin pages of consents: what people allowed, and taking it back."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import badge
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from gateway.admin.labels import stacked
from gateway.admin.people import person_name
from gateway.consents.services import revoke_consent
from gateway.models import Consent


@admin.register(Consent)
class ConsentAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Everybody sees their own; who may take back the others' sees them too."""

    class Media:
        css = {"all": ["contextos/gateway.css"]}

    list_display = ["who", "client", "allowed", "state", "granted_at"]
    search_fields = ["user_id", "credential__name", "credential__adapter_id"]
    list_select_related = ["credential"]
    fields = ["who", "client", "allowed", "state", "granted_at", "revoked_at"]
    actions_detail = ["revoke"]
    nav_title = "Consents"
    nav_icon = "how_to_reg"
    nav_order = 80
    empty_title = "Nobody has consented to anything yet"
    empty_text = (
        "Where an adapter wants a person's own consent, a call waits and says where to give it. "
        "What was given stands here and can be taken back."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """One's own, unless one keeps order."""
        rows = super().get_queryset(request)
        user = request.user
        if user.has_perm("gateway.view_every_consent") or not isinstance(user, User):
            return rows
        return rows.filter(user_id=user.user_id)

    @display(description="Person", ordering="user_id")
    def who(self, row: Consent) -> str:
        """By name."""
        return person_name(row.user_id) or row.user_id

    @display(description="Allowed to", ordering="credential__name")
    def client(self, row: Consent) -> SafeString:
        """Through which credential, for which adapter."""
        return stacked(row.credential.name, row.credential.adapter_id, row.credential.environment)

    @display(description="Permissions")
    def allowed(self, row: Consent) -> str:
        """The scopes."""
        return ", ".join(row.scopes) or "none by name"

    @display(description="State", ordering="revoked_at")
    def state(self, row: Consent) -> SafeString:
        """Whether it still counts."""
        gone = row.revoked_at is not None
        return badge("taken back" if gone else "in force", "neutral" if gone else "success")

    def has_revoke_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """One's own, or with the right to take back anybody's."""
        row = self.get_object(request, str(object_id)) if object_id else None
        if row is None or row.revoked_at is not None:
            return False
        own = isinstance(request.user, User) and request.user.user_id == row.user_id
        return own or request.user.has_perm("gateway.revoke_consent")

    @action(description="Take it back", permissions=["revoke"])
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Here at once, and at the far side."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_revoke_permission(request, object_id):
            raise Http404
        question = Question(
            title="Take back this consent",
            text="Calls in this person's name wait for a new consent from now on. The tokens are "
            "deleted here and revoked at the authorization server, if it offers that.",
            button="Take it back",
            done="Taken back.",
        )
        actor = actor_of(request)
        return confirm(
            self,
            request,
            row,
            question,
            lambda values: revoke_consent(consent_id=row.pk, actor=actor, **values),
        )
