"""REST of tool calls: the body is always a result envelope, refusals included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos import telemetry
from contextos.core import strict_json
from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import ContextOSError, http_status, tool_error
from contextos.core.tokens import VerifiedToken
from contextos.identity.authentication import bearer_of, seen_agent_of
from contextos.restkit.problems import as_coded_error, problem_headers
from contextos.restkit.renderers import CanonicalJSONRenderer
from contextos.restkit.views import APIView
from contextos.trace_context import baggage_text, begin_trace, current_trace
from gateway.answering import give_input
from gateway.answers import REJECTING, Answer, stored
from gateway.api.bodies import checked, checked_body
from gateway.api.descriptions import DELEGATION, body_of, both_envelopes, component
from gateway.calls import open_context, own_call, propose, propose_on, read_call
from gateway.cancelling import cancel_call
from gateway.context import CallRequest
from gateway.identity import Caller, caller_of
from gateway.models import ToolCall
from gateway.patience import wait_preference
from gateway.remembering import forget, standing_of
from gateway.standing import result_of

_JSON = CanonicalJSONRenderer.media_type
_SHORT_BODY = 16 * 1024
_PREFER = OpenApiParameter(
    "Prefer",
    str,
    OpenApiParameter.HEADER,
    description="`wait=N`: wait up to N seconds (30 at most) for the call to end.",
)


class EnvelopeView(APIView):
    """Answers with a result envelope also when the request itself is at fault."""

    # A replay is read back from canonical text, and has to have the bytes of the first answer.
    renderer_classes = (CanonicalJSONRenderer,)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Say whose answer this is in the trace's own words, as tools are told too (C8)."""
        told = baggage_of(response.data)
        if told:
            response["baggage"] = told
        return super().finalize_response(request, response, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        """Bad identity, bad JSON, a bad body: in the shape that callers read anyway."""
        error = as_coded_error(exc)
        if error is None:
            return super().handle_exception(exc)
        answer = _faulty_request(error)
        return Response(answer.body, status=answer.http_status, headers=dict(answer.headers))


class ToolCallListView(EnvelopeView):
    """`tool-calls`."""

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """A proposal as nearly everybody sends it is answered at once; DRF weighs all others."""
        if is_plain_post(request):
            return _plainly_answered(request, allow=", ".join(self.allowed_methods))
        return super().dispatch(request, *args, **kwargs)

    @extend_schema(
        operation_id="tool_calls_propose",
        request=body_of("tool-call"),
        responses={200: component("ToolResult"), 202: component("ToolResult")},
        parameters=[_PREFER, DELEGATION],
    )
    def post(self, request: Request) -> Response:
        """Propose a call; the answer says whether it happened, and why not."""
        answer = _proposed(caller_of(request), checked_body(request, "tool-call"), request)
        return Response(answer.body, status=answer.http_status, headers=dict(answer.headers))


class ToolCallView(EnvelopeView):
    """`tool-calls/{id}`."""

    @extend_schema(
        operation_id="tool_calls_read",
        responses={200: both_envelopes()},
        parameters=[_PREFER, DELEGATION],
    )
    def get(self, request: Request, tool_call_id: str) -> Response:
        """Both envelopes of a call of this caller."""
        pair = read_call(
            caller=caller_of(request),
            tool_call_id=tool_call_id,
            wait_seconds=_patience(request),
        )
        return Response(pair)


class CancelView(EnvelopeView):
    """`tool-calls/{id}/cancel`."""

    @extend_schema(
        operation_id="tool_calls_cancel",
        request=body_of("cancel"),
        responses={200: component("ToolResult"), 202: component("ToolResult")},
        parameters=[DELEGATION],
    )
    def post(self, request: Request, tool_call_id: str) -> Response:
        """Cancel a call of this caller, with a reason; 202 while the tool is being asked."""
        caller = caller_of(request)
        body = checked_body(request, "cancel")
        call = own_call(caller=caller, tool_call_id=tool_call_id)
        cancelled = cancel_call(
            tenant_id=caller.tenant_id,
            tool_call_id=call.pk,
            reason=body["reason"],
            actor=caller.agent.as_actor(),
        )
        return _standing(cancelled)


class InputView(EnvelopeView):
    """`tool-calls/{id}/input`."""

    @extend_schema(
        operation_id="tool_calls_input",
        request=body_of("input"),
        responses={202: component("ToolResult")},
        parameters=[DELEGATION],
    )
    def post(self, request: Request, tool_call_id: str) -> Response:
        """Answer what the tool asked: accept with content, decline, or cancel the call."""
        caller = caller_of(request)
        body = checked_body(request, "input")
        call = own_call(caller=caller, tool_call_id=tool_call_id)
        answered = give_input(
            call=call,
            action=body["action"],
            content=body.get("content"),
            actor=caller.agent.as_actor(),
        )
        return _standing(answered)


def is_plain_post(request: HttpRequest) -> bool:
    """JSON, and any answer is welcome: nothing to be negotiated, nothing but one way to read it."""
    asked = request.META
    length = asked.get("CONTENT_LENGTH") or "0"
    return (
        request.method == "POST"
        and length != "0"
        and length.isdecimal()
        and asked.get("CONTENT_TYPE") == _JSON
        and asked.get("HTTP_ACCEPT", "*/*") in ("*/*", _JSON)
        and not asked.get("QUERY_STRING")
    )


def _plainly_answered(request: HttpRequest, *, allow: str) -> HttpResponse:
    """What the view below answers, word for word, without DRF's request and response between."""
    try:
        token = _remembered_token(request)
        answer = _answered(request) if token is None else _on_memory(request, token)
    except Exception as fault:
        error = as_coded_error(fault)
        if error is None:
            raise
        answer = _faulty_request(error)
    headers, told = {"Allow": allow, **answer.headers}, baggage_of(answer.body)
    if told:
        headers["baggage"] = told
    text = CanonicalJSONRenderer().render(answer.body)
    return HttpResponse(text, status=answer.http_status, headers=headers, content_type=_JSON)


def _answered(request: HttpRequest) -> Answer:
    """Who asks comes first: nobody else's body is worth reading."""
    caller = _caller(request)
    return _proposed(caller, _body(request), request)


def _caller(request: HttpRequest) -> Caller:
    request.user = bearer_of(request)  # type: ignore[assignment]  # as DRF does
    return caller_of(request)


def _body(request: HttpRequest) -> dict[str, Any]:
    given = strict_json.loads_object(request.read(strict_json.MAX_BYTES + 1))
    return checked(given, "tool-call")


def _remembered_token(request: HttpRequest) -> VerifiedToken | None:
    """The token of an agent that was here a moment ago, with a body as short as most are."""
    if telemetry.is_on() or int(request.META["CONTENT_LENGTH"]) > _SHORT_BODY:
        return None
    return seen_agent_of(request)


def _on_memory(request: HttpRequest, token: VerifiedToken) -> Answer:
    """The answer to a read like the last ones of its caller; else everything is asked."""
    try:
        body = _body(request)
    except ContextOSError:
        _caller(request)  # whoever may not ask is told nothing of what is wrong with it
        raise
    asked, rate_is_taken = CallRequest.from_body(body), False
    plain = asked.idempotency_key is None and not asked.evidence_refs
    standing = standing_of(token, asked.run_id) if plain else None
    if standing is not None:
        answer = propose_on(standing, asked)
        if isinstance(answer, Answer):
            request.user = standing.caller.agent  # type: ignore[assignment]  # for the access line
            return answer
        forget(token, asked.run_id)
        rate_is_taken = answer.rate_is_taken
    return _proposed(_caller(request), body, request, rate_is_taken=rate_is_taken)


def _proposed(
    caller: Caller,
    body: Mapping[str, Any],
    request: HttpRequest | Request,
    *,
    rate_is_taken: bool = False,
) -> Answer:
    trace = current_trace() or begin_trace(None)
    context = open_context(
        caller=caller,
        request=CallRequest.from_body(body),
        trace_id=trace.trace_id,
        rate_is_taken=rate_is_taken,
    )
    return propose(context, wait_seconds=_patience(request))


def _faulty_request(error: ContextOSError) -> Answer:
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


def _patience(request: HttpRequest | Request) -> float:
    return wait_preference(request.META.get("HTTP_PREFER"))


def _standing(call: ToolCall) -> Response:
    answer = stored(result_of(call), replayed=False)
    body: dict[str, Any] = dict(answer.body)
    return Response(body, status=answer.http_status, headers=dict(answer.headers))
