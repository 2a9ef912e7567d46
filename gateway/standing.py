"""How a call stands: its result as stored, or what can be said while it is under way."""

from __future__ import annotations

from typing import Any

from approvals.selectors import request_of
from audit.payloads import open_payload
from contextos.core import strict_json
from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import coded_error, tool_error
from gateway.consents.asking import consent_error, pending_request
from gateway.gating import SUBJECT_KIND
from gateway.models import ToolCall
from gateway.states import CallState

_STATUS = {
    CallState.PAUSED: ResultStatus.PAUSED,
    CallState.INPUT_REQUIRED: ResultStatus.PAUSED,
    CallState.QUEUED: ResultStatus.DEFERRED,
    CallState.EXECUTING: ResultStatus.DEFERRED,
    CallState.WORKING: ResultStatus.DEFERRED,
}
_TASK_STATES = {CallState.WORKING: "working", CallState.INPUT_REQUIRED: "input_required"}
USUAL_PAUSE_MS = 1000


def result_of(call: ToolCall) -> dict[str, Any]:
    """The result envelope: final with its output, or as far as the call has come."""
    if not call.result:
        return _so_far(call)
    body = strict_json.loads_object(call.result)
    if call.output_payload:
        body["output"] = open_payload(tenant_id=call.tenant_id, payload_id=call.output_payload)
    return body


def pair_of(call: ToolCall) -> dict[str, Any]:
    """Both envelopes, the arguments and the output taken from the payload store."""
    envelope = strict_json.loads_object(call.envelope)
    envelope["args"] = open_payload(tenant_id=call.tenant_id, payload_id=call.args_payload)
    return {"call": envelope, "result": result_of(call)}


def _so_far(call: ToolCall) -> dict[str, Any]:
    envelope: dict[str, Any] = strict_json.loads_object(call.envelope)
    state = CallState(call.state)
    return ToolResultEnvelope(
        tool_call_id=call.tool_call_id,
        run_id=call.run_id,
        trace_id=envelope["trace_id"],
        capability_id=call.capability_id,
        status=_STATUS[state],
        policy_decision_id=envelope.get("policy_decision_id"),
        attempts=call.attempts,
        decision_id=call.decision_id,
        task=_task(call, state),
        input_request=call.input_request if state is CallState.INPUT_REQUIRED else None,
        approval=_approval(call) if state is CallState.PAUSED else None,
        error=_AWAITED[state](call) if state in _AWAITED else None,
    ).as_dict()


def _task(call: ToolCall, state: CallState) -> dict[str, Any] | None:
    if call.task is None or state not in _TASK_STATES:
        return None
    return {
        "task_id": call.task["task_id"],
        "state": _TASK_STATES[state],
        "poll_after_ms": call.task.get("poll_after_ms") or USUAL_PAUSE_MS,
    }


def _approval(call: ToolCall) -> dict[str, Any] | None:
    asked = request_of(SUBJECT_KIND, call.tool_call_id)
    if asked is None:
        return None
    return {"gate": asked.gate_id, "approval_id": asked.pk, "state": str(asked.state)}


def _awaited_people(call: ToolCall) -> dict[str, Any]:
    consent = pending_request(call)
    fault = coded_error("approval.required") if consent is None else consent_error(consent)
    return tool_error(fault)


def _awaited_input(call: ToolCall) -> dict[str, Any]:
    return {
        "kind": "input",
        "code": "input.required",
        "message": "The tool needs an answer before it goes on.",
        "retryable": False,
        "remediation": f"POST {{action, content}} to /api/v1/tool-calls/{call.pk}/input.",
    }


_AWAITED = {CallState.PAUSED: _awaited_people, CallState.INPUT_REQUIRED: _awaited_input}
