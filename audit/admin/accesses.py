"""Who audits a tenant, for how long, which period, and how far they may read (E3)."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from audit.accesses import Terms, end_access, grant_access
from audit.clearance import Clearance
from audit.models import AuditorAccess
from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import Tone, badge, when
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.identity.models import User

_TONES: dict[str, Tone] = {"current": "success", "not begun": "info", "ended": "neutral"}
_TERM = ("starts_at", "ends_at", "data_from", "data_until", "clearance")


class AccessForm(ModelForm[AuditorAccess]):
    """The terms of a new access; the person by the name they sign in with."""

    auditor = forms.CharField(
        max_length=150,
        help_text="The name they sign in with. Add the person first, under People.",
    )

    class Meta:
        model = AuditorAccess
        fields = [*_TERM, "reason"]

    def clean_auditor(self) -> User:
        """Somebody who exists; a role they lack is given with the access."""
        name = self.cleaned_data["auditor"].strip()
        found = User.objects.filter(username=name, is_active=True).first()
        if found is None:
            raise forms.ValidationError("Nobody here signs in with this name.")
        return found


@admin.register(AuditorAccess)
class AuditorAccessAdmin(TenantScopedAdmin):
    """Granted and taken back, never changed: the log says who gave what to whom."""

    list_display = ["who", "shown_state", "until", "period", "shown_clearance", "granted"]
    list_select_related = ["user"]
    search_fields = ["user__username"]
    actions_detail = ["take_back"]
    nav_title = "Auditors"
    nav_icon = "badge"
    nav_order = 60
    empty_title = "Nobody audits this tenant"
    empty_text = (
        "Give an auditor access for a time, to a period of records, up to a clearance. They read "
        "and export, change nothing, and what they look at is recorded."
    )
    empty_action = ("Give access", "admin:audit_auditoraccess_add")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the sign-in names of those who granted them, in the same statement."""
        granter = User.objects.filter(user_id=OuterRef("granted_by")).values("username")[:1]
        rows: QuerySet[Any] = super().get_queryset(request)
        named: QuerySet[Any] = rows.annotate(granter=Subquery(granter))
        return named

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Any]]:
        """Names are typed when granting; a granted access is only read."""
        more = {} if obj is not None else {"form": AccessForm}
        return super().get_form(request, obj, change=change, **{**kwargs, **more})

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """All of it, once there is one."""
        shown = ["who", "shown_state", *_TERM, "reason", "granted", "ended_at", "ended_by"]
        return shown if obj is not None else ["auditor", *_TERM, "reason"]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        """Nothing of a granted access can be changed."""
        return self.get_fields(request, obj) if obj is not None else []

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Model:
        """Grant it."""
        given = form.cleaned_data
        terms = {name: given[name] for name in _TERM if name != "clearance"}
        return grant_access(
            user=given["auditor"],
            tenant_id=acting_tenant_id(request),
            terms=Terms(**terms, clearance=Clearance(given["clearance"])),
            actor=actor_of(request),
            reason=given["reason"],
        )

    @action(description="Take back", permissions=["take_back"])
    def take_back(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """From the next request on they read nothing."""
        access = self.get_object(request, object_id)
        if not isinstance(access, AuditorAccess):
            raise Http404
        question = Question(
            title="Take the access back",
            text="From the next request on they read nothing here, and their tokens and "
            "downloads end with it.",
            button="Take back",
            done="The access has ended.",
        )
        return confirm(
            self,
            request,
            access,
            question,
            lambda given: end_access(
                access_id=access.pk, actor=actor_of(request), reason=given["reason"]
            ),
        )

    def has_take_back_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever grants."""
        return self.allows(request, "change")

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """No button for what has ended already."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        access = self.get_object(request, str(object_id))
        return found if access is not None and access.ended_at is None else []

    @display(description="Auditor")
    def who(self, access: AuditorAccess) -> str:
        """The person."""
        return single_line(f"{access.user} ({access.user.username})", limit=120)

    @display(description="State")
    def shown_state(self, access: AuditorAccess) -> SafeString:
        """Whether it counts now."""
        now = timezone.now()
        ended = access.ended_at is not None or access.ends_at <= now
        state = "ended" if ended else "not begun" if access.starts_at > now else "current"
        return badge(state, _TONES[state])

    @display(description="Access ends", ordering="ends_at")
    def until(self, access: AuditorAccess) -> SafeString:
        """By term, or because it was taken back."""
        return when(access.ended_at or access.ends_at)

    @display(description="Records")
    def period(self, access: AuditorAccess) -> str:
        """The period that is shown."""
        if access.data_from is None and access.data_until is None:
            return "of any time"
        since = f"from {access.data_from:%Y-%m-%d}" if access.data_from else ""
        until = f"to {access.data_until:%Y-%m-%d}" if access.data_until else ""
        return f"{since} {until}".strip()

    @display(description="Clearance", ordering="clearance")
    def shown_clearance(self, access: AuditorAccess) -> SafeString:
        """Values classed higher are masked."""
        return badge(access.clearance.lower(), "neutral")

    @display(description="Granted by")
    def granted(self, access: Any) -> str:
        """Who gave it."""
        return single_line(access.granter or access.granted_by, limit=80)
