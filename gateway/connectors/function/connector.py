"""The function connector: an invocation becomes one call in the runner."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings

from contextos.core import strict_json
from contextos.core.canonical import MAX_SAFE_INTEGER, canonicalise
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.connectors.base import Invocation, Reply, ReplyKind
from gateway.connectors.function.frames import (
    FrameTooLarge,
    OutOfTime,
    Patience,
    PeerGone,
    Stopped,
)
from gateway.connectors.function.pool import RunnerPool
from registry.validation import compile_schema

_FAULTS = {
    "unknown_function": "function.unknown",
    "unsupported_action": "function.unsupported_action",
    "raised": "function.raised",
    "too_large": "function.reply_too_large",
    "not_json": "function.reply_not_json",
}


@cache
def runner_pool() -> RunnerPool:
    """The process's pool, over the modules that the settings name."""
    return RunnerPool(
        tuple(settings.CONTEXTOS_FUNCTION_MODULES),
        size=settings.FUNCTION_RUNNERS,
        also=settings.FUNCTION_ENVIRONMENT,
    )


class FunctionConnector:
    """Protocol `function`."""

    def __init__(self, pool: RunnerPool | None = None) -> None:
        self._pool = pool

    def invoke(self, call: Invocation) -> Reply:
        """Run the callable."""
        return self._ask("invoke", call)

    def poll(self, call: Invocation, task: Mapping[str, Any]) -> Reply:
        """Run the registered poll function with the handle."""
        return self._ask("poll", call, task=task)

    def cancel(self, call: Invocation, task: Mapping[str, Any] | None) -> None:
        """Run the registered cancel function, if there is one."""
        try:
            self._ask("cancel", call, task=task)
        except ContextOSError as fault:
            if fault.code != "function.unsupported_action":
                raise

    def give_input(
        self, call: Invocation, task: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Reply:
        """Run the poll function with the answer."""
        return self._ask("input", call, task=task, answer=answer)

    def _ask(
        self,
        action: str,
        call: Invocation,
        *,
        task: Mapping[str, Any] | None = None,
        answer: Mapping[str, Any] | None = None,
    ) -> Reply:
        request = {
            "function": call.binding,
            "action": action,
            "args": dict(call.args),
            "call": _facts(call) | {"task": task, "answer": answer},
        }
        pool = self._pool or runner_pool()
        try:
            raw = pool.ask(request, _patience(call))
        except OutOfTime as fault:
            raise coded_error("function.timeout") from fault
        except Stopped as fault:
            raise coded_error("call.cancelled") from fault
        except FrameTooLarge as fault:
            raise coded_error("function.reply_too_large") from fault
        except (PeerGone, OSError) as fault:
            raise coded_error("function.runner_died") from fault
        return _reply(raw)


def _facts(call: Invocation) -> dict[str, Any]:
    return {
        "tool_call_id": call.tool_call_id,
        "tenant_id": call.tenant_id,
        "capability_id": call.capability_id,
        "attempt": call.attempt,
        "idempotency_key": call.idempotency_key,
        "traceparent": call.traceparent,
    }


def _patience(call: Invocation) -> Patience:
    left = max(0.0, (call.deadline_at - utcnow()).total_seconds())
    return Patience(time.monotonic() + left, call.should_stop)


def _refuse_unusable(terms: Mapping[str, Any]) -> None:
    """All but the output, which is judged against its schema; a tool's words are mended later."""
    cost = terms.get("cost_cents")
    if cost is not None and (type(cost) is not int or not 0 <= cost <= MAX_SAFE_INTEGER):
        detail = "A cost is a whole number of cents, 0 or more."
        raise coded_error("function.reply_not_json", data={"detail": detail})
    if "error" in terms:
        return
    try:
        strict_json.refuse_depth(canonicalise(dict(terms)).decode())
        if "request" in terms:
            compile_schema(terms["request"]["schema"])  # else no answer could ever be checked
    except ContextOSError as fault:
        raise coded_error("function.reply_not_json", data={"detail": fault.message}) from fault


def _reply(raw: Mapping[str, Any]) -> Reply:
    fault = raw.get("fault")
    if fault is not None:
        raise coded_error(_FAULTS[fault], data={"detail": str(raw.get("message", ""))[:200]})
    _refuse_unusable({name: part for name, part in raw.items() if name != "output"})
    if "error" in raw:
        return Reply(kind=ReplyKind.TOOL_ERROR, error=raw["error"], upstream_status="tool_error")
    if "working" in raw:
        task = {"handle": raw["working"], "poll_after_ms": raw["poll_after_ms"]}
        return Reply(kind=ReplyKind.WORKING, task=task, upstream_status="working")
    if "input_required" in raw:
        return Reply(
            kind=ReplyKind.INPUT_REQUIRED,
            task={"handle": raw["input_required"], "poll_after_ms": 0},
            input_request=raw["request"],
            upstream_status="input_required",
        )
    return Reply(
        kind=ReplyKind.OUTPUT,
        output=raw.get("output"),
        cost_cents=raw.get("cost_cents"),
        mutations=raw.get("mutations") or (),
        upstream_status="ok",
    )
