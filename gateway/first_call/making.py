"""Makes one governed read as an agent, on a person's behalf at the admin's keyboard.

The page holds no token. One is issued for this call alone: five minutes, one capability, read only.
It never leaves the process, and it is revoked before the answer is shown; issue and revocation are
recorded with the person who pressed the button.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.views.decorators.debug import sensitive_variables

from contextos.core.events import Actor
from contextos.core.modes import ApprovalMode
from contextos.identity.models import Agent
from contextos.identity.services import issue_agent_token, revoke_token
from contextos.identity.token_verification import verify_bearer
from contextos.trace_context import begin_trace, current_trace
from gateway.answers import Answer
from gateway.calls import open_context, propose
from gateway.context import CallRequest
from gateway.identity import Caller
from gateway.runs import open_run
from registry.models import Capability
from registry.resolution import capability_of_version

LIFETIME = timedelta(minutes=5)
PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class MadeCall:
    """The run that was opened, and what the gateway answered."""

    run_id: str
    answer: Answer

    @property
    def decision_id(self) -> str:
        """Names the record; empty only where none could be written."""
        return str(self.answer.body.get("decision_id") or "")


@sensitive_variables("grant")
def make_call(
    *, agent: Agent, capability: Capability, intent: str, args: Mapping[str, Any], actor: Actor
) -> MadeCall:
    """Open a run and propose the read, through the same doors as any agent's own call."""
    grant = issue_agent_token(
        tenant_id=agent.tenant_id,
        agent_id=agent.agent_id,
        actor=actor,
        lifetime=LIFETIME,
        scopes=[capability.capability_id],
        max_mode=ApprovalMode.READ_ONLY.value,
    )
    became = "no run was opened"
    try:
        caller = Caller(verify_bearer(grant.token), None)
        trace = current_trace() or begin_trace(None)
        body = {
            "tenant_id": agent.tenant_id,
            "intent": intent,
            "environment": capability.environment,
        }
        run = open_run(caller=caller, body=body, trace_id=trace.trace_id)
        became = f"run {run.run_id}"
        request = CallRequest(
            run_id=run.run_id,
            capability_id=capability.capability_id,
            args=args,
            idempotency_key=_key(capability),
        )
        context = open_context(caller=caller, request=request, trace_id=trace.trace_id)
        return MadeCall(run.run_id, propose(context, wait_seconds=PATIENCE_SECONDS))
    finally:
        reason = f"It was made for one call of the first-call page: {became}."
        revoke_token(token_id=grant.row.pk, actor=actor, reason=reason)


def _key(capability: Capability) -> str | None:
    declared = capability_of_version(capability.version_id, capability.capability_id)
    return f"first_{secrets.token_hex(12)}" if declared.requires_idempotency_key else None
