"""OpenTelemetry by OTLP when a collector is named; otherwise nothing of it is loaded."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.conf import settings

from contextos import __version__
from contextos.trace_context import TraceContext

SERVICE_NAME = "contextos"
_NOT_TRACED = "/healthz,/readyz,/metrics,/static/"
_WITH_QUERY = ("http.url", "http.target", "url.full", "url.query")

_shutdowns: list[Callable[[], Any]] = []


def start() -> bool:
    """Begin exporting if OTEL_EXPORTER_OTLP_ENDPOINT is set; a second call changes nothing."""
    if not settings.OTLP_ENDPOINT or _shutdowns:
        return False
    endpoint = settings.OTLP_ENDPOINT.rstrip("/")
    _start_traces(endpoint)
    _start_metrics(endpoint)
    _instrument()
    _follow_requests()
    atexit.register(shutdown)
    return True


def shutdown() -> None:
    """Send what is still waiting, then stop."""
    while _shutdowns:
        _shutdowns.pop()()


def is_on() -> bool:
    """Whether a collector is named; what costs time is asked behind this."""
    return bool(_shutdowns)


class _Nothing:
    """The span of a process without a collector."""

    __slots__ = ()

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def tell(self, **attributes: Any) -> None:
        """Forget it."""

    def rename(self, name: str) -> None:
        """Forget it."""

    def failed(self, code: str) -> None:
        """Forget it."""


NOTHING = _Nothing()


def span(name: str, *, trace_id: str | None = None, **attributes: Any) -> Any:
    """A span for a `with`; `__` in a name stands for a dot. Nothing at all without a collector."""
    if not _shutdowns:
        return NOTHING
    from contextos.otel_spans import open_span

    return open_span(name, trace_id, attributes)


def statement(text: str) -> Any:
    """The span of a statement that takes another way to the database than psycopg's cursors, which
    are traced by themselves; never its parameters."""
    if not _shutdowns:
        return NOTHING
    from contextos.otel_spans import open_span

    told = {"db.system": "postgresql", "db.statement": text}
    return open_span(text.split(None, 1)[0], None, told, leaves=True)


def adopt_active_span(trace: TraceContext) -> TraceContext:
    """The trace under the ids of the active OpenTelemetry span, so that log and trace agree."""
    if not _shutdowns:
        return trace
    from opentelemetry import trace as otel

    active = otel.get_current_span().get_span_context()
    if not active.is_valid:
        return trace
    same_caller = f"{active.trace_id:032x}" == trace.trace_id
    return replace(
        trace,
        trace_id=f"{active.trace_id:032x}",
        span_id=f"{active.span_id:016x}",
        flags=int(active.trace_flags),
        parent_id=trace.parent_id if same_caller else None,
    )


def _start_traces(endpoint: str) -> None:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from contextos.otel_export import DiscreetExporter

    provider = TracerProvider(resource=_resource())
    exporter = DiscreetExporter(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces"))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _shutdowns.append(provider.shutdown)


def _start_metrics(endpoint: str) -> None:
    from opentelemetry import metrics
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics"))
    provider = MeterProvider(resource=_resource(), metric_readers=[reader])
    metrics.set_meter_provider(provider)
    _shutdowns.append(provider.shutdown)


def _instrument() -> None:
    from opentelemetry.instrumentation.celery import CeleryInstrumentor
    from opentelemetry.instrumentation.django import DjangoInstrumentor
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    from opentelemetry.instrumentation.psycopg import PsycopgInstrumentor
    from opentelemetry.instrumentation.redis import RedisInstrumentor

    DjangoInstrumentor().instrument(excluded_urls=_NOT_TRACED, request_hook=_forget_query)
    HTTPXClientInstrumentor().instrument(request_hook=_forget_query)
    CeleryInstrumentor().instrument()  # type: ignore[no-untyped-call]
    PsycopgInstrumentor().instrument(skip_dep_check=True)  # statements only, never parameters
    RedisInstrumentor().instrument()


def _follow_requests() -> None:
    """Our own HTTP runs on the engine below httpx, where no instrumentation of others looks."""
    from contextos.net.watching import follow_requests
    from contextos.otel_spans import follow_request

    follow_requests(follow_request)
    _shutdowns.append(lambda: follow_requests(None))


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource.create(
        {
            "service.name": os.environ.get("OTEL_SERVICE_NAME", SERVICE_NAME),
            "service.version": __version__,
            "deployment.environment.name": settings.CONTEXTOS_ENV,
            "process.pid": os.getpid(),
        }
    )


def _forget_query(span: Any, _request: Any) -> None:
    """Queries can hold tokens and personal data; the path is enough to find a request again."""
    if span is None or not span.is_recording():
        return
    for name in _WITH_QUERY:
        value = span.attributes.get(name)
        if isinstance(value, str):
            span.set_attribute(name, "" if name == "url.query" else value.partition("?")[0])
