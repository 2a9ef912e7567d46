"""Spans and metrics of governed calls, as a real collector receives them (C22)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings
from opentelemetry import metrics, trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from contextos import telemetry
from gateway import tracing
from gateway.connectors.function.connector import runner_pool
from gateway.worker import work_on
from tests.gateway.shaky_world import feels, shaky_world
from tests.ops.test_telemetry import Collector

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
PREFIX = "contextos.adapter.shaky"


@pytest.fixture(scope="module")
def collecting() -> Iterator[Collector]:
    """Traces and metrics of this process go to a collector of our own."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        telemetry._start_traces(server.url)
        telemetry._start_metrics(server.url)
        yield server
        telemetry.shutdown()
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module", autouse=True)
def _runner() -> Iterator[None]:
    runner_pool.cache_clear()
    with override_settings(
        CONTEXTOS_FUNCTION_MODULES=("tests.gateway.shaky_functions",), FUNCTION_RUNNERS=1
    ):
        yield
        runner_pool().close()
    runner_pool.cache_clear()


def _spans(collector: Collector) -> dict[str, Span]:
    trace.get_tracer_provider().force_flush()  # type: ignore[attr-defined]
    found = {span.name: span for span in collector.spans()}
    collector.bodies["/v1/traces"].clear()
    return found


def _attributes(span: Span) -> dict[str, Any]:
    return {
        item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes
    }


@pytest.mark.proves("C22")
@pytest.mark.django_db
def test_each_step_is_a_span_of_the_callers_trace_and_the_tool_gets_its_parent(
    collecting: Collector,
) -> None:
    world = shaky_world()
    run = world.post("/api/v1/runs", world.run_body(), traceparent=PARENT).json()
    assert run["trace_id"] == TRACE
    feels("well")
    body = world.call(run).json()
    spans = _spans(collecting)
    assert {
        "contextos.gateway.tool_call",
        "contextos.gateway.load_run",
        "contextos.gateway.resolve",
        *(f"{PREFIX}.{step}" for step in ("validate", "decide", "route", "replay", "limits")),
        *(f"{PREFIX}.{step}" for step in ("claim", "invoke", "normalise", "record")),
    } <= set(spans)
    told = _attributes(spans[f"{PREFIX}.invoke"])
    assert told["contextos.action.approval_mode_effective"] == "read_only"
    for name in ("policy_decision_id", "tool_call_id", "decision_id"):
        assert told[name] == body[name]
        assert _attributes(spans["contextos.gateway.tool_call"])[name] == body[name]
    for step in ("route", "replay", "limits", "claim"):  # all that follows the verdict
        told = _attributes(spans[f"{PREFIX}.{step}"])
        assert told["contextos.action.approval_mode_effective"] == "read_only"
        assert told["policy_decision_id"] == body["policy_decision_id"]
    invoke = spans[f"{PREFIX}.invoke"]
    assert body["output"]["traceparent"] == f"00-{TRACE}-{invoke.span_id.hex()}-01"
    # Arguments and outputs are nobody's business at the collector.
    assert b'"item"' not in b"".join(collecting.bodies["/v1/traces"])


@pytest.mark.django_db
def test_a_refused_call_says_so_with_its_code(collecting: Collector) -> None:
    world = shaky_world()
    world.call(world.open_run(), args={"item": 5})
    spans = _spans(collecting)
    assert spans["contextos.gateway.tool_call"].status.message == "args.schema"
    assert spans[f"{PREFIX}.validate"].status.code == 2
    assert f"{PREFIX}.invoke" not in spans


@pytest.mark.django_db
def test_a_worker_s_attempt_is_in_the_trace_of_its_run(collecting: Collector) -> None:
    world = shaky_world()
    run = world.post("/api/v1/runs", world.run_body(), traceparent=PARENT).json()
    feels("well")
    accepted = world.call(run, "shaky.write", idempotency_key="ik_1").json()["tool_call_id"]
    _spans(collecting)
    work_on(accepted)
    spans = _spans(collecting)
    assert spans[f"{PREFIX}.invoke"].trace_id.hex() == TRACE
    assert _attributes(spans[f"{PREFIX}.record"])["tool_call_id"] == accepted


@pytest.mark.proves("C22")
@pytest.mark.django_db
def test_only_the_metrics_that_the_manifest_declares_are_measured(collecting: Collector) -> None:
    world = shaky_world()
    feels("well")
    world.call(world.open_run())
    collecting.bodies["/v1/metrics"].clear()
    metrics.get_meter_provider().force_flush()  # type: ignore[attr-defined]
    request = ExportMetricsServiceRequest.FromString(collecting.bodies["/v1/metrics"][-1])
    found = {
        metric.name: metric
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name.startswith("contextos.call.")
    }
    assert set(found) == {"contextos.call.latency_ms", "contextos.call.retry_count"}
    points = found["contextos.call.latency_ms"].histogram.data_points
    labels = {item.key: item.value.string_value for item in points[0].attributes}
    assert labels["capability_id"] in ("shaky.read", "shaky.write")
    assert set(labels) == {"adapter_id", "capability_id", "status"}


@pytest.mark.proves("C22")
def test_without_a_collector_the_spans_of_a_call_cost_less_than_ten_microseconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telemetry, "_shutdowns", [])
    nobody: Any = None

    def a_call() -> None:
        for name in ("load_run", "resolve", "validate", "decide", "route", "replay", "limits"):
            with tracing.step(name, nobody):
                pass
        for name in ("claim", "invoke", "normalise", "record"):
            with tracing.attempt_span(name, nobody):
                pass
        tracing.measured(nobody, nobody, None)

    assert min(_microseconds(a_call) for _ in range(10)) < 10


def _microseconds(call: Callable[[], Any], times: int = 500) -> float:
    started = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - started) / times * 1e6
