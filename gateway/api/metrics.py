"""REST of the figures: the same numbers that the dashboard draws and Prometheus scrapes (E5)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.identity.permissions import HasRole
from contextos.identity.principals import principal_of
from contextos.restkit.views import APIView
from gateway.figures.asking import asked_range, range_for
from gateway.figures.boards import Board, BudgetUse, board, budget_use
from gateway.figures.measures import Spread, Sums
from registry.roles import READERS

_PARAMETERS = ("from", "to", "adapter", "capability")


class SpreadSerializer(serializers.Serializer[Any]):
    """Times in milliseconds; p99 is never below the true value and less than 9.1 % above it."""

    count = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    p99 = serializers.FloatField(allow_null=True)


class FiguresSerializer(serializers.Serializer[Any]):
    """What the decisions of a range amount to; a share of nothing is null."""

    decisions = serializers.IntegerField(help_text="Ended in the range, repeats of refusals too.")
    executed = serializers.IntegerField()
    failed = serializers.IntegerField()
    rejected = serializers.IntegerField()
    expired = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="Became unknown in the range.")
    reconciled = serializers.IntegerField(help_text="Settled by a person in the range.")
    denied = serializers.IntegerField(help_text="rejected + expired + cancelled.")
    denied_per_1000 = serializers.FloatField(allow_null=True, help_text="Of decisions.")
    success_rate = serializers.FloatField(
        allow_null=True, help_text="executed / (executed + failed), 0 to 1."
    )
    mode_refused = serializers.IntegerField(help_text="Refused for the mode that was asked for.")
    mode_misclassified = serializers.IntegerField(
        help_text="Calls that did more than declared, as the tool or a reviewer reported."
    )
    mode_misclassified_per_1000 = serializers.FloatField(allow_null=True)
    latency_ms = SpreadSerializer()
    approval_wait_ms = SpreadSerializer()
    replays = serializers.IntegerField(help_text="Recorded answers that were given again.")
    replays_equal = serializers.IntegerField(help_text="Those that equalled their record.")
    replay_correctness = serializers.FloatField(allow_null=True)
    key_conflicts = serializers.IntegerField(help_text="Keys that came with other arguments.")
    budget_refused = serializers.IntegerField()
    rate_refused = serializers.IntegerField()
    cost_cents = serializers.IntegerField(help_text="As far as tools said what a call cost.")


class CapabilityFiguresSerializer(FiguresSerializer):
    """The same for one capability; both ids are null for refusals that found no adapter."""

    adapter_id = serializers.CharField(allow_null=True)
    capability_id = serializers.CharField(allow_null=True)


class BudgetSerializer(serializers.Serializer[Any]):
    """What the latest runs of the range used of what they may."""

    runs = serializers.IntegerField()
    used_calls = serializers.IntegerField()
    max_calls = serializers.IntegerField()
    spent_cents = serializers.IntegerField()
    max_cost_cents = serializers.IntegerField()
    complete = serializers.BooleanField(help_text="False: there were more runs than are added up.")


class PointSerializer(serializers.Serializer[Any]):
    """One span of the range."""

    starts_at = serializers.DateTimeField()
    executed = serializers.IntegerField()
    failed = serializers.IntegerField()
    denied = serializers.IntegerField()
    latency_p99_ms = serializers.FloatField(allow_null=True)


BoardSerializer = type(
    "BoardSerializer",
    (serializers.Serializer,),
    {
        "__doc__": "The figures of a range, rounded outwards to whole spans.",
        "from": serializers.DateTimeField(),
        "to": serializers.DateTimeField(help_text="Not included."),
        "span_seconds": serializers.IntegerField(),
        "as_of": serializers.DateTimeField(),
        "complete": serializers.BooleanField(
            help_text="False while more records wait to be counted than are read on the fly."
        ),
        "sealing_lag_ms": serializers.IntegerField(),
        "totals": FiguresSerializer(),
        "budget": BudgetSerializer(help_text="Of all runs of the tenant, whatever is filtered."),
        "results": CapabilityFiguresSerializer(many=True),
        "points": PointSerializer(many=True),
        "next": serializers.CharField(allow_null=True),
    },
)
_EXAMPLE = OpenApiExample(
    "One adapter, one day",
    response_only=True,
    value={
        "from": "2026-11-16T20:00:00.000Z",
        "to": "2026-11-17T21:00:00.000Z",
        "span_seconds": 3600,
        "results": [{"adapter_id": "adp_payments", "capability_id": "payments.issue_refund"}],
        "next": None,
    },
)


class CapabilityMetricsView(APIView):
    """`metrics/capabilities`."""

    permission_classes = [HasRole]
    required_roles = READERS

    @extend_schema(
        operation_id="metrics_capabilities",
        tags=["metrics"],
        parameters=[
            OpenApiParameter("from", str, description="RFC 3339; a day before `to` if absent."),
            OpenApiParameter("to", str, description="RFC 3339; now if absent."),
            OpenApiParameter("adapter", str, description="Only this adapter."),
            OpenApiParameter("capability", str, description="Only this capability."),
        ],
        responses={200: BoardSerializer},
        examples=[_EXAMPLE],
    )
    def get(self, request: Request) -> Response:
        """Success, denials, modes, latency, replays, waits and budget by capability."""
        given = _parameters(request)
        caller = principal_of(request)
        asked = asked_range(given.get("from", ""), given.get("to", ""))
        span = range_for(caller, frozenset(caller.roles), caller.tenant_id, asked)
        found = board(
            caller.tenant_id,
            span,
            adapter_id=given.get("adapter", ""),
            capability_id=given.get("capability", ""),
        )
        document = as_document(found, budget_use(caller.tenant_id, span))
        return Response(document, headers={"Cache-Control": "private, no-cache"})


def _parameters(request: Request) -> dict[str, str]:
    given = {name: str(value) for name, value in request.query_params.items()}
    unknown = sorted(set(given) - set(_PARAMETERS))
    if unknown or any("\x00" in value for value in given.values()):
        raise coded_error(
            "request.invalid",
            message=f"There is no filter called {unknown[0][:50]}." if unknown else None,
            data={"known": list(_PARAMETERS)},
        )
    return given


def as_document(found: Board, budget: BudgetUse) -> dict[str, Any]:
    """A board as JSON."""
    return {
        "from": format_time(found.range.since),
        "to": format_time(found.range.until),
        "span_seconds": found.range.grain,
        "as_of": format_time(found.as_of),
        "complete": found.tail.is_whole,
        "sealing_lag_ms": round(found.tail.sealing_lag.total_seconds() * 1000),
        "totals": figures_of(found.totals),
        "budget": {
            "runs": budget.runs,
            "used_calls": budget.calls,
            "max_calls": budget.max_calls,
            "spent_cents": budget.cents,
            "max_cost_cents": budget.max_cents,
            "complete": budget.is_whole,
        },
        "results": [
            {
                "adapter_id": line.place.adapter_id or None,
                "capability_id": line.place.capability_id or None,
                **figures_of(line.sums),
            }
            for line in found.lines
        ],
        "points": [
            {
                "starts_at": format_time(point.starts_at),
                "executed": point.sums["executed"],
                "failed": point.sums["failed"],
                "denied": point.sums.denied,
                "latency_p99_ms": _rounded(point.sums.latency.p99_ms),
            }
            for point in found.points
        ],
        "next": None,
    }


def figures_of(sums: Sums) -> dict[str, Any]:
    """The figures of some counts as JSON."""
    plain = ("executed", "failed", "rejected", "expired", "cancelled", "unknown", "reconciled")
    kept = ("replays", "replays_equal", "key_conflicts", "budget_refused", "rate_refused")
    return {
        "decisions": sums.decisions,
        **{name: sums[name] for name in plain},
        "denied": sums.denied,
        "denied_per_1000": _rounded(sums.denied_per_1000),
        "success_rate": _rounded(sums.success_rate, 6),
        "mode_refused": sums["mode_refused"],
        "mode_misclassified": sums["misclassified"],
        "mode_misclassified_per_1000": _rounded(sums.misclassified_per_1000),
        "latency_ms": _spread(sums.latency),
        "approval_wait_ms": _spread(sums.wait),
        "replay_correctness": _rounded(sums.replay_correctness, 6),
        **{name: sums[name] for name in kept},
        "cost_cents": sums["cost_cents"],
    }


def _spread(times: Spread) -> dict[str, Any]:
    return {
        "count": times.count,
        "mean": _rounded(times.mean_ms),
        "p99": _rounded(times.p99_ms),
    }


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
