"""What the gateway holds of a call's values besides the payload store, and how it goes (E6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from approvals.models import ApprovalRequest
from approvals.services.erasure import forget_subjects, remove_requests, subjects_with_values
from audit.erasing import AT_ONCE, NoEraser
from audit.holds import holds_around
from audit.models import DecisionRow
from audit.selections import Selection
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error, tool_error
from contextos.core.events import Actor
from gateway.cancelling import cancel_call
from gateway.gating import SUBJECT_KIND
from gateway.models import CallbackNotice, Evidence, IdempotencyKey, Run, ToolCall
from gateway.states import CALLS, CallState

WHY_CANCELLED = "Its values were erased before it ran."
_NOT_BEGUN = (CallState.PAUSED, CallState.QUEUED)
_UNDER_WAY = (CallState.EXECUTING, CallState.WORKING, CallState.INPUT_REQUIRED)
# Members of a call envelope that carry what the agent wrote.
_AGENTS_WORDS = ("metadata", "idempotency_key", "session_id")
_OF_ONE_RUN = ("decision_id", "capability_id")


class GatewayEraser(NoEraser):
    """Calls, keys and runs; the requests people were asked about go through approvals' service."""

    def consequences(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Calls that end, callers that get another answer, runs that lose their context."""
        calls = _calls(tenant_id, decision_ids)
        states = list(calls.values_list("state", flat=True))
        keys = IdempotencyKey.objects.filter(tool_call_id__in=calls.values("pk"))
        return {
            "calls that still wait are cancelled": sum(s in _NOT_BEGUN for s in states),
            "calls under way go on; they are erased after their end": sum(
                s in _UNDER_WAY for s in states
            ),
            "keys answer a repeat with payload.erased instead of the result": len(
                keys.values_list("pk", flat=True)
            ),
            "runs lose the context that their policies read": len(_with_context(_runs(calls))),
            "approval requests lose amount, summary and conversation": subjects_with_values(
                tenant_id, SUBJECT_KIND, calls.values_list("pk", flat=True)
            ),
        }

    def settle(self, tenant_id: str, decision_ids: Collection[str], actor: Actor) -> frozenset[str]:
        """Cancel what waits; what a worker has in hand would write its result after us."""
        busy = set()
        for call in _calls(tenant_id, decision_ids).filter(state__in=(*_NOT_BEGUN, *_UNDER_WAY)):
            if call.state in _UNDER_WAY or not _called_off(call, actor):
                busy.add(call.decision_id)
        return frozenset(busy)

    def erase(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Envelopes, results, marks made from the arguments, the run's context."""
        calls = list(_calls(tenant_id, decision_ids))
        names = [call.pk for call in calls]
        runs = set(
            DecisionRow.objects.filter(
                tenant_id=tenant_id, decision_id__in=list(decision_ids)
            ).values_list("run_id", flat=True)
        )
        return {
            "calls": sum(_stripped(call) for call in calls),
            "keys": IdempotencyKey.objects.filter(tool_call_id__in=names)
            .exclude(salt=b"")
            .update(salt=b""),
            "runs": _without_context(Run.objects.filter(tenant_id=tenant_id, pk__in=runs)),
            "evidence": Evidence.objects.filter(tenant_id=tenant_id, tool_call_id__in=names)
            .exclude(mark="")
            .update(mark=""),
            **forget_subjects(tenant_id, SUBJECT_KIND, names),
        }

    def erase_alongside(self, selection: Selection) -> Mapping[str, int]:
        """Runs that were opened and never used."""
        if any(getattr(selection, name) for name in _OF_ONE_RUN):
            return {}
        rows = Run.objects.filter(tenant_id=selection.tenant_id)
        for name in ("run_id", "user_id", "agent_id"):
            if getattr(selection, name):
                rows = rows.filter(**{name: getattr(selection, name)})
        if selection.since:
            rows = rows.filter(created_at__gte=selection.since)
        if selection.until:
            rows = rows.filter(created_at__lt=selection.until)
        return {"runs": _without_context(rows)}

    def forget(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """The calls go with their records, unless a repeat of the key still asks for one. Requests
        stay: who decided what is kept as long as the events that tell of it."""
        alive = IdempotencyKey.objects.filter(
            tool_call_id=OuterRef("tool_call_id"), expires_at__gt=utcnow()
        )
        ended = _calls(tenant_id, decision_ids).filter(~Exists(alive), state__in=CALLS.terminal)
        names = list(ended.values_list("pk", flat=True))
        IdempotencyKey.objects.filter(tenant_id=tenant_id, tool_call_id__in=names).delete()
        CallbackNotice.objects.filter(tenant_id=tenant_id, pk__in=names).delete()
        return {"calls": ToolCall.objects.filter(tenant_id=tenant_id, pk__in=names).delete()[0]}

    def let_go(self, tenant_id: str, before: datetime) -> Mapping[str, int]:
        """Requests whose call went with its records, wholly before a moment that no hold covers."""
        call = ToolCall.objects.filter(pk=OuterRef("subject_id"))
        past = ApprovalRequest.objects.filter(
            ~Exists(call),
            ~Exists(holds_around(tenant_id)),
            tenant_id=tenant_id,
            subject_kind=SUBJECT_KIND,
            created_at__lt=before,
            closed_at__lt=before,
        )
        return remove_requests(past, at_most=AT_ONCE)

    def decision_of(self, tenant_id: str, reference: str) -> str:
        """The decision of a call."""
        rows = ToolCall.objects.filter(tenant_id=tenant_id, pk=reference)
        return rows.values_list("decision_id", flat=True).first() or ""


def _calls(tenant_id: str, decision_ids: Collection[str]) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(tenant_id=tenant_id, decision_id__in=list(decision_ids))


def _called_off(call: ToolCall, actor: Actor) -> bool:
    try:
        cancel_call(
            tenant_id=call.tenant_id, tool_call_id=call.pk, reason=WHY_CANCELLED, actor=actor
        )
    except ContextOSError:
        return False  # a worker was faster, or it can't be read at all
    return True


# --- calls ---------------------------------------------------------------------------------------
def _stripped(call: ToolCall) -> bool:
    """All that is left says which call it was and how it ended."""
    kept = {
        "envelope": _text(_without(strict_json.loads_object(call.envelope), _AGENTS_WORDS)),
        "result": _text(_bare(strict_json.loads_object(call.result))) if call.result else "",
        "args_digest": "",
        "task": {"task_id": call.task.get("task_id")} if call.task else None,
        "input_request": None,
        "answer_payload": "",
        "cancel_reason": WHY_CANCELLED if call.cancel_reason else "",
    }
    if all(getattr(call, name) == value for name, value in kept.items()):
        return False
    return bool(ToolCall.objects.filter(pk=call.pk).update(**kept))


def _bare(result: dict[str, Any]) -> dict[str, Any]:
    critic = result.get("critic") or {}
    findings = [{"code": item.get("code")} for item in critic.get("findings") or ()]
    return {
        **result,
        "output": None,
        "citations": [],
        "mutations": [],
        "input_request": None,
        "critic": {**critic, "findings": findings} if critic else None,
        "error": _bare_error(result.get("error")),
    }


def _bare_error(error: Any) -> dict[str, Any] | None:
    """The code stays: it says how the call ended. What was said in words went with the values."""
    if not isinstance(error, dict):
        return None
    gone = tool_error(coded_error("payload.erased"))
    kept = {name: error[name] for name in ("kind", "code", "retryable") if name in error}
    return {**gone, **kept}


def _without(document: dict[str, Any], members: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in members}


def _text(document: Mapping[str, Any]) -> str:
    return canonicalise(dict(document)).decode()


# --- runs ----------------------------------------------------------------------------------------
def _runs(calls: QuerySet[ToolCall]) -> QuerySet[Run]:
    return Run.objects.filter(pk__in=calls.values("run_id"))


def _with_context(runs: QuerySet[Run]) -> list[Run]:
    found = runs.only("document")
    return [run for run in found if run.document.get("context") or run.document.get("session_id")]


def _without_context(runs: QuerySet[Run]) -> int:
    """The context is the agent's own words about its errand, and part of each call's inputs."""
    emptied = _with_context(runs)
    for run in emptied:
        document = {**run.document, "context": {}, "session_id": None}
        Run.objects.filter(pk=run.pk).update(document=document)
    return len(emptied)


ERASER = GatewayEraser()
