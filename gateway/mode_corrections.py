"""A reviewer says that a call did more, or less, than its capability declares (E5)."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from audit.models import AuditEvent
from audit.services import record_event
from contextos.core import strict_json
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.modes import ApprovalMode, exceeds
from gateway.critic import MISCLASSIFIED
from gateway.models import ToolCall
from gateway.states import CallState

ACTION = "call.mode_corrected"
LEAST_REASON = 10
MAX_REASON = 2000
CALLED = (CallState.OK, CallState.FAILED, CallState.UNKNOWN_OUTCOME)


@transaction.atomic
def correct_mode(
    *, tenant_id: str, tool_call_id: str, mode: ApprovalMode, reason: str, actor: Actor
) -> AuditEvent:
    """Record the correction, once for a call. It changes nothing else: the next version of the
    manifest does that, by review. One above the declared mode counts as misclassified, unless the
    tool's own report made the call count already.
    """
    stated = reason.strip()[:MAX_REASON]
    if len(stated) < LEAST_REASON:
        raise coded_error("mode_correction.reason_missing")
    rows = ToolCall.objects.select_for_update().filter(pk=tool_call_id, tenant_id=tenant_id)
    call = rows.first()
    if call is None:
        raise coded_error("call.unknown")
    if call.state not in CALLED:
        raise coded_error("mode_correction.not_called", data={"state": str(call.state)})
    declared = declared_mode(call)
    if mode is declared:
        raise coded_error("mode_correction.same", data={"mode": mode.value})
    if correction_of(call) is not None:
        raise coded_error("mode_correction.exists")
    return record_event(
        tenant_id=tenant_id,
        action=ACTION,
        actor=actor,
        subject_kind="tool_call",
        subject_id=call.pk,
        reason=stated,
        data={
            "decision_id": call.decision_id,
            "adapter_id": call.adapter_id,
            "adapter_version": call.adapter_version,
            "capability_id": call.capability_id,
            "declared": declared.value,
            "corrected": mode.value,
            "counts": exceeds(mode, declared) and not _counts_already(call),
        },
    )


def declared_mode(call: ToolCall) -> ApprovalMode:
    """The highest mode of the capability, as the call's pinned manifest declares it."""
    envelope: dict[str, Any] = strict_json.loads_object(call.envelope)
    return ApprovalMode(envelope["approval_mode_highest"])


def correction_of(call: ToolCall) -> AuditEvent | None:
    """The correction of a call, if there is one."""
    events = AuditEvent.objects.filter(
        tenant_id=call.tenant_id, subject_kind="tool_call", subject_id=call.pk, action=ACTION
    )
    return events.first()


def _counts_already(call: ToolCall) -> bool:
    result: dict[str, Any] = strict_json.loads_object(call.result) if call.result else {}
    findings = (result.get("critic") or {}).get("findings") or []
    return any(item.get("code") == MISCLASSIFIED for item in findings)
