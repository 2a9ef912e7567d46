"""Spans and metrics of governed calls, as a real collector receives them (C22)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from opentelemetry import metrics, trace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from contextos import telemetry
from contextos.net import open_client
from gateway import tracing
from gateway.connectors.function.connector import runner_pool
from gateway.connectors.mcp.portal import close_sessions
from gateway.worker import work_on
from tests.gateway.connectors.mcp.governed import probe_world
from tests.gateway.connectors.mcp.hostile import speaking
from tests.gateway.connectors.mcp.sdk_server import sdk_server
from tests.gateway.shaky_world import feels, shaky_world
from tests.net.conftest import local_rule
from tests.net.upstreams import Call, answering, http_answer, upstream
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
        telemetry._follow_requests()
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


def _sent(collector: Collector) -> list[Span]:
    """All that came since the last look."""
    trace.get_tracer_provider().force_flush()  # type: ignore[attr-defined]
    found = collector.spans()
    collector.bodies["/v1/traces"].clear()
    return found


def _spans(collector: Collector) -> dict[str, Span]:
    return {span.name: span for span in _sent(collector)}


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


@pytest.mark.proves("C22", "C8")
@pytest.mark.django_db
def test_one_trace_leads_from_the_caller_through_the_gateway_to_the_mcp_server(
    collecting: Collector,
) -> None:
    with sdk_server() as server:
        world = probe_world(server.url)
        body = _say(world)
        close_sessions()
    assert body["status"] == "ok", body
    spans = _spans(collecting)
    served, asked = spans["tools/call echo"], spans["MCP send tools/call echo"]
    (invoke,) = (span for name, span in spans.items() if name.endswith(".invoke"))
    assert {span.trace_id.hex() for span in (served, asked, invoke)} == {TRACE}
    assert served.parent_span_id == asked.span_id
    assert asked.parent_span_id == invoke.span_id
    assert _attributes(invoke)["decision_id"] == body["decision_id"]


@pytest.mark.proves("C22")
@pytest.mark.django_db
def test_what_a_server_says_of_an_error_does_not_reach_the_collector(
    collecting: Collector,
) -> None:
    def refuses(call: Call, message: dict[str, Any]) -> None:
        error = {"code": -31999, "message": "Alice owes 4200"}
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        head = "Content-Type: application/json\r\n"
        call.send(http_answer(json.dumps(answer).encode(), headers=head))

    with upstream(speaking(refuses)) as server:
        world = probe_world(f"{server.url}/mcp")
        assert _say(world)["error"]["code"] == "mcp.protocol_error"
        close_sessions()
    sent = _sent(collecting)
    told = [_attributes(span) for span in sent if span.name == "MCP send tools/call echo"]
    assert told[0]["rpc.response.status_code"] == "-31999"
    assert "Alice" not in str(sent)


def _say(world: Any) -> dict[str, Any]:
    asked = world.run_body(environment="development")
    run = world.post("/api/v1/runs", asked, traceparent=PARENT).json()
    call = {"run_id": run["run_id"], "capability_id": "probe.say", "args": {"text": "hello"}}
    return dict(world.post("/api/v1/tool-calls", call, traceparent=PARENT).json())


@pytest.mark.proves("C22")
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no instrumentation")
@pytest.mark.django_db
def test_the_statements_of_the_short_way_to_the_database_are_traced(
    collecting: Collector,
) -> None:
    world = shaky_world()
    feels("well")
    run = world.open_run()
    _spans(collecting)
    world.call(run, args={"item": "planted value"})
    sent = _sent(collecting)
    asked = [span for span in sent if span.kind == Span.SPAN_KIND_CLIENT]
    statements = [_attributes(span)["db.statement"] for span in asked]
    assert any("gateway_run" in statement for statement in statements)
    assert any("INSERT INTO" in statement for statement in statements)
    assert "planted" not in str(sent)


@pytest.mark.proves("C22")
@pytest.mark.django_db  # all that use the collector run one after the other
def test_a_request_that_leaves_is_a_span_and_its_far_side_may_go_on_with_it(
    collecting: Collector,
) -> None:
    with upstream(answering(http_answer(status="503 Busy"))) as server:
        client = open_client(local_rule(server.authority))
        with telemetry.span("around"):
            client.request("POST", f"{server.url}/T0/s3cr3t?key=s3cr3t", json={"a": 1})
        (request,) = server.requests
    found = _spans(collecting)
    span, around = found["POST"], found["around"]
    assert (span.parent_span_id, span.kind) == (around.span_id, Span.SPAN_KIND_CLIENT)
    told = _attributes(span)
    assert (told["server.address"], told["http.response.status_code"]) == ("127.0.0.1", 503)
    parent = f"traceparent: 00-{span.trace_id.hex()}-{span.span_id.hex()}-"
    assert parent.encode() in request
    assert "s3cr3t" not in str(span)


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
