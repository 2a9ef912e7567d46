"""Answers to the caller: always a result envelope, with the HTTP status of the contract's table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import ContextOSError, ErrorKind, http_status, tool_error
from gateway.context import CallContext

# A refusal that a person or a rule meant is `rejected`; what the caller can mend is `failed`.
REJECTING = frozenset({ErrorKind.AUTH, ErrorKind.POLICY, ErrorKind.APPROVAL})
_COME_BACK = (409, 429, 503)


@dataclass(frozen=True, slots=True)
class Answer:
    """A body, its status and its headers."""

    body: Mapping[str, Any]
    http_status: int
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal(context: CallContext, error: ContextOSError, *, decision_id: str | None) -> Answer:
    """A call that was not accepted: no id of its own, but the decision that says why."""
    status = ResultStatus.REJECTED if error.kind in REJECTING else ResultStatus.FAILED
    envelope = ToolResultEnvelope(
        tool_call_id=None,
        run_id=context.request.run_id if context.run else None,
        trace_id=context.trace_id,
        capability_id=context.request.capability_id,
        status=status,
        policy_decision_id=context.decision.policy_decision_id if context.decision else None,
        decision_id=decision_id,
        error=tool_error(error),
    )
    headers = {}
    pause = error.retry_after_ms
    if pause is not None or http_status(error) in _COME_BACK:
        headers["Retry-After"] = str(max(1, -(-(pause or 0) // 1000)))
    return Answer(envelope.as_dict(), http_status(error), headers)


def stored(body: Mapping[str, Any], *, replayed: bool) -> Answer:
    """The recorded answer of a call, as it was given the first time."""
    status = body["status"]
    code = {"paused": 202, "deferred": 202, "rejected": 403}.get(status, 200)
    body = {**body, "replayed": True} if replayed else body
    return Answer(body, code, _where_to_look(body) if code == 202 else {})


def _where_to_look(body: Mapping[str, Any]) -> dict[str, str]:
    pause = (body.get("task") or {}).get("poll_after_ms") or 1000
    return {
        "Location": f"/api/v1/tool-calls/{body['tool_call_id']}",
        "Retry-After": str(max(1, -(-pause // 1000))),
    }
