"""REST of tool calls: the body is always a result envelope, refusals included."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.restkit.views import APIView
from contextos.trace_context import begin_trace, current_trace
from gateway.api.bodies import checked_body
from gateway.calls import open_context, propose, read_call
from gateway.context import CallRequest
from gateway.identity import caller_of


class ToolCallListView(APIView):
    """`tool-calls`."""

    @extend_schema(
        operation_id="tool_calls_propose",
        request=OpenApiTypes.OBJECT,
        responses={200: OpenApiTypes.OBJECT},
    )
    def post(self, request: Request) -> Response:
        """Propose a call; the answer says whether it happened, and why not."""
        caller = caller_of(request)
        body = checked_body(request, "tool-call")
        trace = current_trace() or begin_trace(None)
        context = open_context(
            caller=caller, request=CallRequest.from_body(body), trace_id=trace.trace_id
        )
        answer = propose(context)
        return Response(answer.body, status=answer.http_status, headers=dict(answer.headers))


class ToolCallView(APIView):
    """`tool-calls/{id}`."""

    @extend_schema(operation_id="tool_calls_read", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, tool_call_id: str) -> Response:
        """Both envelopes of a call of this caller."""
        caller = caller_of(request)
        found = read_call(
            tenant_id=caller.tenant_id,
            agent_id=caller.agent.id,
            user_id=caller.user_id,
            tool_call_id=tool_call_id,
        )
        return Response(found)
