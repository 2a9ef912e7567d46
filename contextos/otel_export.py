"""What leaves for the collector: spans without the words of errors, which may quote values."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status

from contextos.otel_spans import SCOPE

_KEPT = "exception.type"


class DiscreetExporter(SpanExporter):
    """Libraries write what an exception or a far side said into their spans: an argument that a
    constraint quotes, a tool's own words. Codes and types are kept, words are not."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter."""
        return self._inner.export([_without_words(span) for span in spans])

    def shutdown(self) -> None:
        """See SpanExporter."""
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See SpanExporter."""
        return self._inner.force_flush(timeout_millis)


def _without_words(span: ReadableSpan) -> ReadableSpan:
    scope = span.instrumentation_scope
    is_ours = scope is not None and scope.name == SCOPE  # ours hold codes of the catalogue alone
    if is_ours or not (span.events or span.status.description):
        return span
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=[_typed(event) for event in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=scope,
    )


def _typed(event: Event) -> Event:
    kept = {name: value for name, value in (event.attributes or {}).items() if name == _KEPT}
    return Event(event.name, kept, event.timestamp)
