"""REST of runs: open one, read it, and see exactly what it may call."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.modes import ApprovalMode, lowest
from contextos.restkit.views import APIView
from contextos.trace_context import begin_trace, current_trace
from gateway.api.bodies import checked_body
from gateway.api.descriptions import DELEGATION, body_of, component
from gateway.identity import caller_of
from gateway.runs import compiled_run, find_run, open_run


class RunListView(APIView):
    """`runs`."""

    @extend_schema(
        operation_id="runs_open",
        request=body_of("open-run"),
        responses={201: component("RunContext")},
        parameters=[DELEGATION],
    )
    def post(self, request: Request) -> Response:
        """Open a run in the name of the tokens sent."""
        caller = caller_of(request)
        trace = current_trace() or begin_trace(None)
        run = open_run(
            caller=caller, body=checked_body(request, "open-run"), trace_id=trace.trace_id
        )
        return Response(run.document, status=201, headers={"Location": f"/api/v1/runs/{run.pk}"})


class RunView(APIView):
    """`runs/{id}`."""

    @extend_schema(
        operation_id="runs_read",
        responses={200: component("RunContext")},
        parameters=[DELEGATION],
    )
    def get(self, request: Request, run_id: str) -> Response:
        """A run of this caller."""
        return Response(find_run(caller=caller_of(request), run_id=run_id).document)


class ToolManifestView(APIView):
    """`runs/{id}/tool-manifest`."""

    @extend_schema(
        operation_id="runs_tool_manifest",
        responses={200: OpenApiTypes.OBJECT},
        parameters=[DELEGATION],
    )
    def get(self, request: Request, run_id: str) -> Response:
        """What the run may call now; everything else does not exist for it."""
        caller = caller_of(request)
        run = find_run(caller=caller, run_id=run_id)
        reach = lowest([ApprovalMode(run.safety_mode), caller.max_mode])
        manifest = compiled_run(run).tool_manifest(run.run_id, reach=reach, may_use=caller.may_use)
        return Response(manifest)
