"""Whether those whom a call was accepted from may still act when its turn comes (C6)."""

from __future__ import annotations

from contextos.core.errors import coded_error
from contextos.identity.models import Agent, Membership
from gateway.models import ToolCall


def require_parties(call: ToolCall) -> None:
    """The tenant, the agent, and the person it acts for, must still be there."""
    agents = Agent.objects.filter(tenant_id=call.tenant_id, agent_id=call.agent_id)
    if not agents.filter(is_active=True, tenant__is_active=True).exists():
        raise coded_error("auth.subject_inactive", message="The agent has been switched off.")
    people = Membership.objects.current().filter(tenant_id=call.tenant_id)
    if call.user_id and not people.filter(user__user_id=call.user_id).exists():
        raise coded_error("auth.subject_inactive", message="The person it acted for is gone.")
