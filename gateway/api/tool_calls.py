"""REST of tool calls: the body is always a result envelope, refusals included."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.restkit.problems import as_coded_error
from contextos.restkit.renderers import CanonicalJSONRenderer
from contextos.restkit.views import APIView
from gateway.answering import give_input
from gateway.answers import stored
from gateway.api.bodies import checked_body
from gateway.api.descriptions import DELEGATION, body_of, both_envelopes, component
from gateway.api.plain_proposals import is_plain_post, plainly_answered
from gateway.api.proposing import baggage_of, faulty_request, patience, proposed
from gateway.calls import own_call, read_call
from gateway.cancelling import cancel_call
from gateway.identity import caller_of
from gateway.models import ToolCall
from gateway.standing import result_of

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
        answer = faulty_request(error)
        return Response(answer.body, status=answer.http_status, headers=dict(answer.headers))


class ToolCallListView(EnvelopeView):
    """`tool-calls`."""

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """A proposal as nearly everybody sends it is answered at once; DRF weighs all others."""
        if is_plain_post(request):
            return plainly_answered(request, allow=", ".join(self.allowed_methods))
        return super().dispatch(request, *args, **kwargs)

    @extend_schema(
        operation_id="tool_calls_propose",
        request=body_of("tool-call"),
        responses={200: component("ToolResult"), 202: component("ToolResult")},
        parameters=[_PREFER, DELEGATION],
    )
    def post(self, request: Request) -> Response:
        """Propose a call; the answer says whether it happened, and why not."""
        answer = proposed(caller_of(request), checked_body(request, "tool-call"), request)
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
            wait_seconds=patience(request),
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


def _standing(call: ToolCall) -> Response:
    answer = stored(result_of(call), replayed=False)
    body: dict[str, Any] = dict(answer.body)
    return Response(body, status=answer.http_status, headers=dict(answer.headers))
