"""Away: an approver lets somebody else vote for a while; admins see all of it and can end it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from approvals.admin.delegations_form import AwayForm
from approvals.eligibility import VOTING_ROLE
from approvals.models import Delegation, Gate
from approvals.selectors import gates_of, holds_voting_role
from approvals.services import delegations
from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import Tone, badge, when
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.access import roles_of
from contextos.identity.actors import actor_of
from contextos.identity.models import User

STEM = "approvals_delegation"
MOST_PEOPLE = 500
FOR_OTHERS = "approvals.change_approvergroup"  # platform admins, for somebody who fell ill
SEE_ALL = "approvals.view_approvergroup"


@admin.register(Delegation)
class DelegationAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Who votes for whom, when and where."""

    list_display = ["shown_giver", "shown_stand_in", "state", "shown_gates", "begins", "ends"]
    list_select_related = ["giver", "stand_in"]
    search_fields = ["giver__username", "stand_in__username", "reason"]
    ordering = ["-delegation_id"]
    nav_title = "Away and stand-ins"
    nav_icon = "event_busy"
    nav_order = 20
    empty_title = "Nobody is away"
    empty_text = (
        "When you are away, let another approver vote in your name: with dates, for all of your "
        "gates or some. It is never passed on, and it can be ended at any time."
    )
    empty_action = ("I'm away", f"admin:{STEM}_add")

    # --- who sees what ------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Approvers see what they gave and were given; admins and auditors see all."""
        rows: QuerySet[Any] = super().get_queryset(request).select_related("giver", "stand_in")
        if request.user.has_perm(SEE_ALL):
            return rows
        return rows.filter(Q(giver_id=request.user.pk) | Q(stand_in_id=request.user.pk))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Approvers for themselves, platform admins for others."""
        return self.allows(request, "add")

    def may_end(self, request: HttpRequest, row: Delegation) -> bool:
        """Giver, stand-in or a platform admin, as long as there is something to end."""
        if row.revoked_at is not None or row.ends_at <= utcnow():
            return False
        mine = request.user.pk in (row.giver_id, row.stand_in_id)
        return self.allows(request, "add", row) and (mine or request.user.has_perm(FOR_OTHERS))

    # --- the list -----------------------------------------------------------------------------
    @display(description="Away", ordering="giver__username")
    def shown_giver(self, row: Delegation) -> str:
        """Whose vote it is."""
        return str(row.giver)

    @display(description="Stands in", ordering="stand_in__username")
    def shown_stand_in(self, row: Delegation) -> str:
        """Who casts it."""
        return str(row.stand_in)

    @display(description="State")
    def state(self, row: Delegation) -> SafeString:
        """Whether it counts now."""
        return state_of(row)

    @display(description="Gates")
    def shown_gates(self, row: Delegation) -> str:
        """Where it counts."""
        return single_line(", ".join(map(str, row.gates)), limit=120) or "all of theirs"

    @display(description="From", ordering="starts_at")
    def begins(self, row: Delegation) -> SafeString:
        """Its first moment."""
        return when(row.starts_at)

    @display(description="Until", ordering="ends_at")
    def ends(self, row: Delegation) -> SafeString:
        """Its last moment."""
        return when(row.revoked_at or row.ends_at)

    # --- pages --------------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """The button that ends one before Django's own pages."""
        guarded = self.admin_site.admin_view
        end = path("<path:object_id>/end/", guarded(self.end_view), name=f"{STEM}_end")
        return [end, *super().get_urls()]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """I'm away."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = self._form(request)
        if form is None:
            return self._page(request, "approvals/delegation_new.html", "I'm away", form=None)
        if form.is_bound and form.is_valid():
            try:
                made = self._give(request, form.cleaned_data)
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                told = f"{made.stand_in} can vote for {made.giver} from the start you chose on."
                messages.success(request, told)
                return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[made.pk]))
        title = "I'm away" if form.is_own else "Somebody is away"
        status = 422 if form.is_bound else 200
        return self._page(request, "approvals/delegation_new.html", title, status=status, form=form)

    def _form(self, request: HttpRequest) -> AwayForm | None:
        """None where the person can't delegate anything: they do not vote here."""
        tenant_id, me = acting_tenant_id(request), cast(User, request.user)
        voters = approvers(tenant_id)
        if request.user.has_perm(FOR_OTHERS):
            givers = voters
            names = list(Gate.objects.filter(tenant_id=tenant_id).values_list("gate_id", flat=True))
        elif VOTING_ROLE in roles_of(me, tenant_id):
            givers, names = [me], sorted(gates_of(me, tenant_id))
        else:
            return None
        data = request.POST if request.method == "POST" else None
        others = [user for user in voters if [user] != givers]
        return AwayForm(data, givers=givers, others=others, gates=names, initial=_initial(givers))

    def _give(self, request: HttpRequest, values: dict[str, Any]) -> Delegation:
        people = {user.user_id: user for user in approvers(acting_tenant_id(request))}
        return delegations.delegate(
            tenant_id=acting_tenant_id(request),
            giver=people[values["giver"]],
            stand_in=people[values["stand_in"]],
            starts_at=values["starts_at"],
            ends_at=values["ends_at"],
            reason=values["reason"],
            gates=values.get("gates", ()),
            actor=actor_of(request),
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One delegation, with the button that ends it."""
        row = self._row(request, object_id)
        return self._page(
            request,
            "approvals/delegation.html",
            f"{row.stand_in} for {row.giver}",
            original=row,
            row=row,
            state=state_of(row),
            may_end=self.may_end(request, row),
            end_url=reverse(f"admin:{STEM}_end", args=[row.pk]),
        )

    def end_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """End it now."""
        row = self._row(request, object_id)
        if not self.may_end(request, row):
            raise PermissionDenied
        if request.method != "POST":
            raise Http404
        delegations.revoke(delegation_id=row.pk, tenant_id=row.tenant_id, actor=actor_of(request))
        messages.success(request, f"Ended. {row.stand_in} can't vote for {row.giver} any more.")
        return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[row.pk]))

    def _row(self, request: HttpRequest, object_id: str) -> Delegation:
        row = self.get_object(request, object_id)
        if not isinstance(row, Delegation):
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        return row

    def _page(
        self, request: HttpRequest, template: str, title: str, *, status: int = 200, **more: Any
    ) -> HttpResponse:
        top = (reverse(f"admin:{STEM}_changelist"), "Away and stand-ins")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "trail": [top, ("", title)],
            "back": top[0],
            **more,
        }
        return TemplateResponse(request, template, context, status=status)


def state_of(row: Delegation, now: datetime | None = None) -> SafeString:
    """Ended, over, in force or still to come."""
    moment = now or utcnow()
    words: tuple[str, Tone] = ("in force", "success")
    if row.revoked_at is not None:
        words = ("ended early", "neutral")
    elif row.ends_at <= moment:
        words = ("over", "neutral")
    elif row.starts_at > moment:
        words = ("to come", "info")
    return badge(*words)


def approvers(tenant_id: str) -> list[User]:
    """Everybody with the voting role."""
    rows = User.objects.filter(holds_voting_role(tenant_id), is_active=True)
    return list(rows.order_by("username")[:MOST_PEOPLE])


def _initial(givers: Sequence[User]) -> dict[str, Any]:
    now = utcnow().replace(second=0, microsecond=0)
    shape = "%Y-%m-%dT%H:%M"
    return {
        "giver": givers[0].user_id if len(givers) == 1 else "",
        "starts_at": now.strftime(shape),
        "ends_at": (now + timedelta(days=7)).strftime(shape),
    }
