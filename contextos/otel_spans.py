"""Spans and measurements by OpenTelemetry; loaded only where a collector is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
)
from opentelemetry.trace import TraceFlags as Flags

from contextos import __version__
from contextos.core.errors import ContextOSError
from contextos.net.targets import Target

SCOPE = "contextos"
# A remote parent has to have an id; this one stands for "the run", which has no span of its own.
_THE_RUN = 1


class OpenSpan:
    """One span under way. Attributes are ids, codes and numbers, never values of arguments."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def tell(self, **attributes: Any) -> None:
        """Add attributes; what is not known is left out."""
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(name.replace("__", "."), value)

    def rename(self, name: str) -> None:
        """Give it the name that is known by now."""
        self._span.update_name(name)

    def failed(self, code: str) -> None:
        """Mark it as failed with a code of the catalogue; messages may quote what is personal."""
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR, code))


@contextmanager
def open_span(
    name: str, trace_id: str | None, attributes: Mapping[str, Any], *, leaves: bool = False
) -> Iterator[OpenSpan]:
    """A span under the active one; of another trace when its id is given and differs. One that
    `leaves` asks somebody else: a database, a host."""
    context, links = _place(trace_id)
    tracer = trace.get_tracer(SCOPE, __version__)
    with tracer.start_as_current_span(
        name,
        context,
        kind=SpanKind.CLIENT if leaves else SpanKind.INTERNAL,
        links=links,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        opened = OpenSpan(span)
        opened.tell(**attributes)
        try:
            yield opened
        except ContextOSError as fault:
            opened.failed(fault.code)
            raise
        except Exception as fault:
            opened.failed(type(fault).__name__)
            raise


def _place(trace_id: str | None) -> tuple[Any, list[Link]]:
    active = trace.get_current_span().get_span_context()
    if trace_id is None or active.trace_id == int(trace_id, 16):
        return None, []
    run = SpanContext(int(trace_id, 16), _THE_RUN, is_remote=True, trace_flags=Flags(Flags.SAMPLED))
    links = [Link(active)] if active.is_valid else []
    return trace.set_span_in_context(NonRecordingSpan(run)), links


@dataclass(frozen=True, slots=True)
class _RequestSpan:
    """A request of the door, as `contextos.net.watching` wants to be told of it."""

    span: OpenSpan
    headers: Mapping[str, str]

    def answered(self, status: int) -> None:
        self.span.tell(http__response__status_code=status)
        if status >= 400:
            self.span.failed(str(status))


@contextmanager
def follow_request(method: str, target: Target) -> Iterator[_RequestSpan]:
    """The span of a request that leaves. It names the host alone: paths can hold keys."""
    told = {
        "http.request.method": method,
        "server.address": target.host,
        "server.port": target.port,
        "url.scheme": target.scheme,
    }
    with open_span(method, None, told, leaves=True) as span:
        yield _RequestSpan(span, {"traceparent": current_traceparent()})


def current_traceparent() -> str:
    """The header for a call made from the active span."""
    active = trace.get_current_span().get_span_context()
    return f"00-{active.trace_id:032x}-{active.span_id:016x}-{int(active.trace_flags):02x}"


@cache
def _histogram(name: str, unit: str) -> metrics.Histogram:
    return metrics.get_meter(SCOPE, __version__).create_histogram(name, unit=unit)


@cache
def _counter(name: str, unit: str) -> metrics.Counter:
    return metrics.get_meter(SCOPE, __version__).create_counter(name, unit=unit)


def measure(name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
    """One measurement of a distribution."""
    _histogram(name, unit).record(value, dict(attributes))


def count(name: str, value: float, unit: str, attributes: Mapping[str, str]) -> None:
    """Add to a sum."""
    _counter(name, unit).add(value, dict(attributes))
