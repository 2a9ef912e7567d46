"""Admin pages of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import mode_badge
from contextos.adminkit.secrets import secret_field
from contextos.identity import services
from contextos.identity.actors import actor_of
from contextos.identity.admin.tenants import active_badge
from contextos.identity.callbacks import callback_facts, shown_secret
from contextos.identity.models import Agent

_EDITABLE = (
    "name",
    "role",
    "owner",
    "max_mode",
    "agent_urn",
    "workload_identity",
    "callback_url",
)

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[Agent]
else:
    _ModelForm = forms.ModelForm


class AgentForm(_ModelForm):
    """The agent, and a box into which a new secret goes and out of which none comes."""

    callback_secret = secret_field(
        "New callback secret", "Signs the callbacks; at least 32 random characters."
    )


@admin.register(Agent)
class AgentAdmin(TenantScopedAdmin):
    """Workloads that propose calls, with the person who answers for each."""

    form = AgentForm
    list_display = ["name", "agent_id", "role", "highest_mode", "owner", "state"]
    list_filter = ["is_active", "max_mode"]
    list_select_related = ["owner"]
    search_fields = ["agent_id", "name", "agent_urn", "workload_identity"]
    actions_detail = ["suspend", "resume"]
    nav_icon = "smart_toy"
    nav_order = 60
    empty_title = "No agents yet"
    empty_text = (
        "An agent is a workload that proposes tool calls. Register one, then issue a token."
    )
    empty_action = ("Register an agent", "admin:identity_agent_add")

    @display(description="Highest mode", ordering="max_mode")
    def highest_mode(self, agent: Agent) -> SafeString:
        """No token of the agent goes beyond it."""
        return mode_badge(agent.max_mode)

    @display(description="State", ordering="is_active")
    def state(self, agent: Agent) -> SafeString:
        """Whether its tokens are accepted."""
        return active_badge(agent.is_active)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """The id stands in records and never changes; switching off has its own page."""
        if obj is None:
            return []
        return ["agent_id", "callback_host", "callback_fingerprint", "is_active", "created_at"]

    @display(description="Callback host")
    def callback_host(self, agent: Agent) -> str:
        """For those who only read: a path may hold a key."""
        return callback_facts(agent)["host"] or "none"

    @display(description="Callback secret")
    def callback_fingerprint(self, agent: Agent) -> str:
        """A fingerprint; the secret itself is never shown."""
        return shown_secret(agent)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A new agent is active."""
        given = ["agent_id", *_EDITABLE]
        if obj is None:
            return [*given, "callback_secret"]
        shown = ["callback_fingerprint", "is_active", "created_at"]
        if self.has_change_permission(request, obj):
            return [*given, "callback_secret", *shown]
        return [*given[:-1], "callback_host", *shown]

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Agent:
        """Register it in the acting tenant."""
        values = {name: form.cleaned_data[name] for name in (*_EDITABLE, "callback_secret")}
        return services.register_agent(
            tenant_id=form.instance.tenant.pk,
            agent_id=form.cleaned_data["agent_id"],
            actor=actor_of(request),
            **values,
        )

    def perform_update(self, request: HttpRequest, form: ModelForm[Any]) -> Agent:
        """Change it."""
        values = {name: form.cleaned_data[name] for name in (*_EDITABLE, "callback_secret")}
        return services.update_agent(agent_pk=form.instance.pk, actor=actor_of(request), **values)

    def has_suspend_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Operators may suspend without being allowed to change an agent."""
        return request.user.has_perm("identity.suspend_agent")

    @action(description="Switch off", permissions=["suspend"])
    def suspend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """No token of the agent is accepted any more."""
        question = Question(
            title="Switch the agent off",
            text="At the next call none of its tokens is accepted. It can be switched on again.",
            button="Switch off",
            done="The agent is switched off.",
        )
        return self._switch(request, object_id, question, active=False)

    @action(description="Switch on", permissions=["suspend"])
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Its tokens are accepted again, as far as they have not expired."""
        question = Question(
            title="Switch the agent on",
            text="Its unexpired tokens are accepted again from the next call on.",
            button="Switch on",
            done="The agent is switched on.",
        )
        return self._switch(request, object_id, question, active=True)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only the button that would change something."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        agent = self.get_object(request, str(object_id))
        useless = "resume" if agent is None or agent.is_active else "suspend"
        return [button for button in found if not button.action_name.endswith(useless)]

    def _switch(
        self, request: HttpRequest, object_id: str, question: Question, *, active: bool
    ) -> HttpResponse:
        agent = self.get_object(request, object_id)
        if agent is None:
            raise Http404
        return confirm(
            self,
            request,
            agent,
            question,
            lambda given: services.set_agent_active(
                agent_pk=agent.pk, active=active, actor=actor_of(request), reason=given["reason"]
            ),
        )
