"""What both ways to answer a proposal share: the call, a faulty request, the words of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request

from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import ContextOSError, http_status, tool_error
from contextos.restkit.problems import problem_headers
from contextos.trace_context import baggage_text, begin_trace, current_trace
from gateway.answers import REJECTING, Answer
from gateway.calls import open_context, propose
from gateway.context import CallRequest
from gateway.identity import Caller
from gateway.patience import wait_preference


def proposed(
    caller: Caller,
    body: Mapping[str, Any],
    request: HttpRequest | Request,
    *,
    rate_is_taken: bool = False,
) -> Answer:
    """The answer to a checked body, in the trace of its request."""
    trace = current_trace() or begin_trace(None)
    context = open_context(
        caller=caller,
        request=CallRequest.from_body(body),
        trace_id=trace.trace_id,
        rate_is_taken=rate_is_taken,
    )
    return propose(context, wait_seconds=patience(request))


def faulty_request(error: ContextOSError) -> Answer:
    """For a request that never became a call."""
    trace = current_trace()
    envelope = ToolResultEnvelope(
        tool_call_id=None,
        run_id=None,
        trace_id=trace.trace_id if trace else None,
        capability_id=None,
        status=ResultStatus.REJECTED if error.kind in REJECTING else ResultStatus.FAILED,
        error=tool_error(error),
    )
    return Answer(envelope.as_dict(), http_status(error), problem_headers(error))


def baggage_of(body: Any) -> str:
    """The run and the decision that an answer is about, as W3C baggage; empty without either."""
    envelope = body.get("result", body) if isinstance(body, dict) else None
    if not isinstance(envelope, dict):
        return ""
    known = {name: envelope.get(name) for name in ("run_id", "decision_id")}
    return baggage_text({name: str(value) for name, value in known.items() if value})


def patience(request: HttpRequest | Request) -> float:
    """How long the caller would wait for the end of a call."""
    return wait_preference(request.META.get("HTTP_PREFER"))
