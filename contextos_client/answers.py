"""From an HTTP answer to what the caller gets: the answer itself, or the exception for it."""

from __future__ import annotations

from .errors import ContextOSError, Facts, Unreachable, exception_for
from .reading import Misshapen
from .types import ToolError, ToolResult
from .wire import Answer


def checked(answer: Answer) -> Answer:
    """The answer, if it is what was asked for; every other status raises its exception."""
    if 200 <= answer.status < 300:
        return answer
    if answer.status < 400:
        raise Unreachable(f"HTTP {answer.status}: a gateway never redirects; is base_url right?")
    raise _exception(answer)


def _exception(answer: Answer) -> ContextOSError:
    try:
        result = _result(answer)
        error = result.error if result else ToolError.read(answer.body)
    except Misshapen as fault:
        return Unreachable(
            f"HTTP {answer.status} with a body that is no answer of a gateway: {fault}",
            Facts(http_status=answer.status, raw=answer.body, traceparent=answer.traceparent),
        )
    facts = Facts(
        http_status=answer.status,
        error=error,
        result=result,
        retry_after=answer.retry_after,
        traceparent=answer.traceparent,
        raw=answer.body,
    )
    code, message = (error.code, error.message) if error else ("", f"HTTP {answer.status}")
    return exception_for(answer.status, code)(message, facts)


def _result(answer: Answer) -> ToolResult | None:
    """The envelope of a refused tool call; other errors are problem details."""
    if "envelope_version" not in answer.body:
        return None
    return ToolResult.read(
        answer.body, traceparent=answer.traceparent, retry_after=answer.retry_after
    )
