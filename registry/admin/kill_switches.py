"""Admin pages of kill switches: throw one, see what it stops, lift it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.review.forms import ReasonForm
from contextos.review.timeline import timeline_of
from registry.admin.filters import SwitchFilter
from registry.admin.stops import reach_of, target_label
from registry.models import AdapterVersion, KillSwitch
from registry.models.kill_switches import KillScope
from registry.services.kill_switches import known_target, lift_switch, throw_switch

MOST_WORDS = 2000


class ThrowForm(forms.Form):
    """What to stop, and why."""

    scope = forms.ChoiceField(
        label="Stop",
        choices=KillScope.choices,
        help_text="An adapter with all its versions, one version, one capability, or everything.",
    )
    target_id = forms.CharField(
        label="Which one",
        max_length=200,
        required=False,
        help_text="The adapter id, the version (adp_orders@1.0.0 or its id), or the capability id. "
        "Leave it empty for the whole tenant.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    reason = forms.CharField(
        label="Reason",
        max_length=MOST_WORDS,
        help_text="Callers that are stopped are told this, and it is kept in the log.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )


@admin.register(KillSwitch)
class KillSwitchAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Switches that stop calls, effective on the next one."""

    list_display = ["what", "state", "shown_reason", "thrown", "by", "lifted"]
    list_filter = [SwitchFilter, "scope"]
    search_fields = ["target_id", "=switch_id"]
    search_help_text = "Name or exact id of a switch."
    nav_icon = "block"
    nav_order = 70
    nav_badge = "registry.panels.thrown_switch_count"
    empty_title = "Nothing is stopped"
    empty_text = (
        "A kill switch stops an adapter, a version, a capability or the whole tenant from the "
        "next call on, in every process. Throw one here, or from the page of what should stop."
    )
    empty_action = ("Throw a kill switch", "admin:registry_killswitch_add")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the names of the people and versions that switches keep by their ids."""
        versions = AdapterVersion.objects.filter(
            pk=OuterRef("target_id"), tenant=OuterRef("tenant")
        ).annotate(label=Concat("adapter__adapter_id", Value(" "), "version"))
        people = User.objects.filter(user_id=OuterRef("thrown_by"))
        rows: QuerySet[Any] = super().get_queryset(request)
        found: QuerySet[Any] = rows.annotate(
            version_label=Subquery(versions.values("label")[:1]),
            thrower=Subquery(people.values("username")[:1]),
        )
        return found

    @display(description="What", ordering="target_id")
    def what(self, switch: Any) -> str:
        """What it stops."""
        label = switch.version_label or switch.target_id
        return f"{switch.get_scope_display()}: {reveal_invisible(label)}"

    @display(description="State", ordering="lifted_at")
    def state(self, switch: KillSwitch) -> SafeString:
        """Whether it stops calls now."""
        return badge("stopping calls", "danger") if switch.is_thrown else badge("lifted")

    @display(description="Reason")
    def shown_reason(self, switch: KillSwitch) -> str:
        """As given."""
        return reveal_invisible(switch.reason)

    @display(description="Thrown", ordering="thrown_at")
    def thrown(self, switch: KillSwitch) -> SafeString:
        """When."""
        return when(switch.thrown_at)

    @display(description="By")
    def by(self, switch: Any) -> str:
        """Who threw it: a person by name; commands and services by their id."""
        return reveal_invisible(switch.thrower or switch.thrown_by)

    @display(description="Lifted", ordering="lifted_at")
    def lifted(self, switch: KillSwitch) -> SafeString:
        """When it was lifted."""
        return when(switch.lifted_at, absent="not lifted")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Operators and platform admins throw."""
        return self.allows(request, "add")

    def get_urls(self) -> list[URLPattern]:
        """The page that lifts a switch."""
        guarded = self.admin_site.admin_view
        lift = path(
            "<path:object_id>/lift/", guarded(self.lift_view), name="registry_killswitch_lift"
        )
        return [lift, *super().get_urls()]

    # --- throwing -----------------------------------------------------------------------------
    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Say what and why, see what will stop, then throw."""
        tenant = acting_tenant(request)
        if tenant is None or not self.has_add_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            initial = {name: request.GET.get(name, "") for name in ("scope", "target_id")}
            return self._throw_page(request, ThrowForm(initial=initial))
        form = ThrowForm(request.POST)
        if not form.is_valid():
            return self._throw_page(request, form)
        values = {**form.cleaned_data}
        if values["scope"] == KillScope.TENANT:
            values["target_id"] = tenant.pk
        try:
            values["target_id"] = known_target(tenant.pk, values["scope"], values["target_id"])
        except ContextOSError as refusal:
            form.add_error("target_id", f"{refusal.message} {refusal.remediation}")
            return self._throw_page(request, form)
        if "confirmed" not in request.POST:
            return self._ask_again(request, values, tenant.pk)
        return self._throw(request, form, values, tenant.pk)

    def _throw_page(self, request: HttpRequest, form: ThrowForm) -> HttpResponse:
        context = {**self._frame(request, "Throw a kill switch"), "form": form}
        status = 422 if form.is_bound else 200
        return TemplateResponse(request, "registry/throw.html", context, status=status)

    def _ask_again(
        self, request: HttpRequest, values: dict[str, Any], tenant_id: str
    ) -> HttpResponse:
        reach = reach_of(tenant_id, values["scope"], values["target_id"])
        label = target_label(
            KillSwitch(tenant_id=tenant_id, scope=values["scope"], target_id=values["target_id"])
        )
        context = {
            **self._frame(request, "Throw a kill switch"),
            "values": values,
            "reach": reach,
            "label": reveal_invisible(label),
            "scope_label": KillScope(values["scope"]).label,
        }
        return TemplateResponse(request, "registry/throw_confirm.html", context)

    def _throw(
        self, request: HttpRequest, form: ThrowForm, values: dict[str, Any], tenant_id: str
    ) -> HttpResponse:
        try:
            switch = throw_switch(tenant_id=tenant_id, actor=actor_of(request), **values)
        except ContextOSError as refusal:
            form.add_error(None, f"{refusal.message} {refusal.remediation}")
            return self._throw_page(request, form)
        messages.success(request, "Thrown: it holds from the next call on, in every process.")
        return HttpResponseRedirect(_page_of(switch))

    # --- one switch ---------------------------------------------------------------------------
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """What it stops, since when, and why."""
        switch = self._switch_or_404(request, object_id)
        context = {
            **self._frame(request, str(switch)),
            "original": switch,
            "switch": switch,
            "label": reveal_invisible(target_label(switch)),
            "reason": reveal_invisible(switch.reason),
            "lift_reason": reveal_invisible(switch.lift_reason),
            "thrown_by": self.by(switch),
            "lifted_by": _name(switch.lifted_by),
            "reach": reach_of(switch.tenant_id, switch.scope, switch.target_id),
            "target_url": _target_url(switch),
            "moments": timeline_of(switch.tenant_id, "kill_switch", [switch.pk]),
            "may_lift": switch.is_thrown and self.allows(request, "lift", switch),
        }
        return TemplateResponse(request, "registry/switch.html", context)

    def lift_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let calls through again."""
        switch = self._switch_or_404(request, object_id)
        if not self.allows(request, "lift", switch):
            raise PermissionDenied
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            try:
                lift_switch(
                    switch_id=switch.pk,
                    actor=actor_of(request),
                    reason=form.cleaned_data["reason"],
                )
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, "Lifted: calls go through again.")
                return HttpResponseRedirect(_page_of(switch))
        context = {
            **self._frame(request, "Lift the kill switch"),
            "original": switch,
            "switch": switch,
            "label": reveal_invisible(target_label(switch)),
            "reach": reach_of(switch.tenant_id, switch.scope, switch.target_id),
            "form": form,
        }
        status = 422 if form.is_bound else 200
        return TemplateResponse(request, "registry/lift.html", context, status=status)

    def _switch_or_404(self, request: HttpRequest, object_id: str) -> KillSwitch:
        switch = self.get_object(request, object_id)
        if not isinstance(switch, KillSwitch):
            raise Http404
        if not self.has_view_permission(request, switch):
            raise PermissionDenied
        return switch

    def _frame(self, request: HttpRequest, title: str) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "trail": [
                (reverse("admin:registry_killswitch_changelist"), "Kill switches"),
                ("", title),
            ],
            "back": reverse("admin:registry_killswitch_changelist"),
        }


def _page_of(switch: KillSwitch) -> str:
    return reverse("admin:registry_killswitch_change", args=[switch.pk])


def _target_url(switch: KillSwitch) -> str:
    if switch.scope != KillScope.VERSION:
        return ""
    return reverse("admin:registry_adapterversion_change", args=[switch.target_id])


def _name(actor_id: str) -> str:
    """A person by name; commands and services by their id."""
    username = User.objects.filter(user_id=actor_id).values_list("username", flat=True).first()
    return reveal_invisible(username or actor_id)
