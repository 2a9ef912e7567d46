"""REST of the plan check: is this plan made of permitted, valid, well-ordered calls?"""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.restkit.views import APIView
from gateway.api.bodies import checked_body
from gateway.api.descriptions import DELEGATION, body_of, component
from gateway.identity import caller_of
from gateway.plan_check import check_plan
from gateway.runs import find_run

_STEP = {
    "step_id": "look",
    "capability_id": "orders.lookup",
    "args": {"order_id": "ord_0881"},
}
ASKED = OpenApiExample(
    "A plan of one step",
    request_only=True,
    value={
        "run_id": "run_01k9zq7w8x5e3m2n4p6r8t0v2w4y6a",
        "plan": {
            "plan_id": "plan_1",
            "intent": "support.refund",
            "intent_mode": "read_only",
            "steps": [_STEP],
        },
    },
)
ANSWERED = OpenApiExample(
    "Nothing to find",
    response_only=True,
    value={
        "verdict": "ok",
        "findings": [],
        "approval_required_steps": [],
        "effective_modes": {"look": "read_only"},
        "expanded_steps": [_STEP],
    },
)
FOUND = OpenApiExample(
    "A fault the planner can mend",
    response_only=True,
    value={
        "verdict": "replan",
        "findings": [
            {
                "step_id": "look",
                "code": "args.schema",
                "message": 'At "/order_id": "881" does not match "^ord_[0-9]{4}$".',
                "severity": "block",
            }
        ],
        "approval_required_steps": [],
        "effective_modes": {"look": "read_only"},
        "expanded_steps": [{**_STEP, "args": {"order_id": "881"}}],
    },
)


class PlanVerifyView(APIView):
    """`plans/verify`."""

    @extend_schema(
        operation_id="plans_verify",
        tags=["plans"],
        request=body_of("plan-verify"),
        responses={200: component("PlanVerdict")},
        parameters=[DELEGATION],
        examples=[ASKED, ANSWERED, FOUND],
    )
    def post(self, request: Request) -> Response:
        """Judge a plan before anything runs; calls nothing and keeps nothing."""
        caller = caller_of(request)
        body = checked_body(request, "plan-verify")
        run = find_run(caller=caller, run_id=body["run_id"])
        return Response(check_plan(caller=caller, run=run, plan=body["plan"]).document())
