"""Traces and metrics reach a collector when one is named, and cost nothing otherwise."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from contextos import __version__
from tests.ops.environment import bare_environment, run

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
VISIT = ["-m", "tests.ops.one_visit"]


class Collector(ThreadingHTTPServer):
    """A tiny OTLP/HTTP receiver."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receive)
        self.bodies: dict[str, list[bytes]] = {"/v1/traces": [], "/v1/metrics": []}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> list[Span]:
        requests = map(ExportTraceServiceRequest.FromString, self.bodies["/v1/traces"])
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Receive(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies[self.path].append(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep the test's output clean."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)}


@pytest.mark.live
def test_a_request_becomes_a_span_of_its_callers_trace(
    collector: Collector, environment: dict[str, str]
) -> None:
    outcome = run(VISIT, environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.strip() == f"00-{TRACE}-{PARENT}-01"
    spans = [span for span in collector.spans() if span.kind == Span.SPAN_KIND_SERVER]
    assert len(spans) == 1  # probes are not traced
    assert (spans[0].trace_id.hex(), spans[0].parent_span_id.hex()) == (TRACE, PARENT)
    assert spans[0].name == "GET .well-known/jwks.json"
    assert f'"span_id":"{spans[0].span_id.hex()}"' in outcome.stderr


@pytest.mark.live
def test_queries_are_not_exported(collector: Collector, environment: dict[str, str]) -> None:
    run(VISIT, environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
    everything = b"".join(body for bodies in collector.bodies.values() for body in bodies)
    assert b"jwks.json" in everything
    assert b"s3cr3t" not in everything


@pytest.mark.live
def test_service_and_version_are_named_and_metrics_follow(
    collector: Collector, environment: dict[str, str]
) -> None:
    run(VISIT, environment | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/"})
    request = ExportMetricsServiceRequest.FromString(collector.bodies["/v1/metrics"][-1])
    resource = request.resource_metrics[0].resource
    named = {item.key: item.value.string_value for item in resource.attributes}
    assert (named["service.name"], named["service.version"]) == ("contextos", __version__)
    assert named["deployment.environment.name"] == "development"


@pytest.mark.live
def test_a_collector_that_is_gone_breaks_nothing(environment: dict[str, str]) -> None:
    gone = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    outcome = run(VISIT, environment | gone)
    assert outcome.returncode == 0
    assert outcome.stdout.strip() == f"00-{TRACE}-{PARENT}-01"


@pytest.mark.live
def test_without_a_collector_nothing_of_it_is_loaded(environment: dict[str, str]) -> None:
    code = "import sys, contextos.wsgi; print([m for m in sys.modules if 'opentelemetry.sdk' in m])"
    outcome = run(["-c", code], environment)
    assert (outcome.returncode, outcome.stdout.strip()) == (0, "[]")


@pytest.mark.live
def test_with_a_collector_everything_that_reaches_out_is_traced(
    environment: dict[str, str],
) -> None:
    code = (
        "import contextos.wsgi\n"
        "from opentelemetry.instrumentation import celery, django, httpx, psycopg, redis\n"
        "made = (celery.CeleryInstrumentor, django.DjangoInstrumentor,\n"
        "  httpx.HTTPXClientInstrumentor, psycopg.PsycopgInstrumentor, redis.RedisInstrumentor)\n"
        "from contextos.net import watching\n"
        "found = [one().is_instrumented_by_opentelemetry for one in made]\n"
        "print([*found, bool(watching._watchers)])"  # our own HTTP goes past httpx
    )
    gone = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    outcome = run(["-c", code], environment | gone)
    assert outcome.stdout.strip() == str([True] * 6), outcome.stderr
