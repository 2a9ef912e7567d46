"""Tells an agent that a call of its own, which had to wait, has ended: signed, without values."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from approvals.outbox import Undeliverable, send_due
from approvals.selectors import request_of
from audit.one_statement import Insert
from contextos.core.clock import format_time, utcnow
from contextos.identity.callbacks import callback_secret
from contextos.identity.models import Agent
from contextos.net.signed_posts import Message, message_id, send_message
from gateway.gating import SUBJECT_KIND
from gateway.models import CallbackNotice, ToolCall
from gateway.states import CALLS, CallState

ENDED = tuple(state.value for state in CallState if CALLS.is_terminal(state))


def callback_writes(call: ToolCall, *, after: str | None) -> list[Insert]:
    """The row of a call that does not end at once, for the write that accepts it."""
    wants = Agent.objects.filter(tenant_id=call.tenant_id, agent_id=call.agent_id)
    if not wants.exclude(callback_url="").exists():
        return []
    row = CallbackNotice(
        tool_call_id=call.tool_call_id,
        tenant_id=call.tenant_id,
        agent_id=call.agent_id,
        due_at=call.created_at,
    )
    columns = {
        str(field.column): getattr(row, field.attname)
        for field in CallbackNotice._meta.concrete_fields
    }
    table = CallbackNotice._meta.db_table
    return [Insert(name="callback", table=table, values=columns, after=after)]


def send_callbacks(now: datetime | None = None) -> int:
    """One round over the calls that have ended; how many agents were told."""
    return send_due(
        ended_calls(), send_callback, receiver=lambda row: (row.tenant_id, row.agent_id), now=now
    )


def ended_calls() -> QuerySet[CallbackNotice]:
    """Callbacks whose call has ended."""
    ended = ToolCall.objects.filter(state__in=ENDED)
    return CallbackNotice.objects.filter(tool_call_id__in=ended.values("tool_call_id"))


def send_callback(row: CallbackNotice) -> None:
    """Post it to where the agent wants it today."""
    agent = Agent.objects.filter(tenant_id=row.tenant_id, agent_id=row.agent_id).first()
    secret = callback_secret(agent) if agent else None
    if agent is None or not agent.is_active:
        raise Undeliverable("The agent is switched off.")
    if not agent.callback_url or secret is None:
        raise Undeliverable("The agent has no callback address any more.")
    call = ToolCall.objects.get(pk=row.tool_call_id, tenant_id=row.tenant_id)
    message = Message(
        url=agent.callback_url,
        body=_body(call),
        message_id=message_id(f"callback:{call.pk}"),
        secret=secret,
    )
    send_message(
        message, environment=settings.CONTEXTOS_ENV, proxy=settings.EGRESS_PROXY, now=utcnow()
    )


def _body(call: ToolCall) -> dict[str, Any]:
    """Ids and states; whoever wants more reads the call with its token."""
    data: dict[str, Any] = {
        "tool_call_id": call.pk,
        "run_id": call.run_id,
        "status": str(call.state),
        "decision_id": call.decision_id,
        "link": f"{settings.PUBLIC_URL}/api/v1/tool-calls/{call.pk}",
    }
    asked = request_of(SUBJECT_KIND, call.pk)
    if asked is not None:
        data["approval"] = {
            "gate": asked.gate_id,
            "approval_id": asked.pk,
            "state": str(asked.state),
        }
    ended_at = call.finished_at or utcnow()
    return {"type": "tool_call.ended", "timestamp": format_time(ended_at), "data": data}
