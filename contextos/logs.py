"""One log for everything: structlog and the standard library meet in one redacting handler."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from contextos.core.redaction import redact, redact_text
from contextos.core.text import reveal_invisible
from contextos.trace_context import current_trace

_request_id: ContextVar[str | None] = ContextVar("contextos_request_id", default=None)

# Chatty libraries, and Django's line per refused request, which our access line says better.
_QUIET = {
    "django.request": logging.ERROR,
    "django.security.DisallowedHost": logging.CRITICAL,  # any stranger can cause one
    "django.utils.autoreload": logging.WARNING,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "asyncio": logging.WARNING,
    "urllib3": logging.WARNING,
}
_REROUTED = (
    "django",
    "django.server",
    "django.request",
    "celery",
    "celery.task",
    "_granian",
    "granian.access",
    "py.warnings",
)


def configure(config: Mapping[str, Any]) -> None:
    """Django's LOGGING_CONFIG: every record goes through one handler on standard error."""
    level, style = str(config["level"]), str(config["format"])
    _ask_no_record_where_it_came_from()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(style))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)
    _reroute(level)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def formatter(style: str) -> structlog.stdlib.ProcessorFormatter:
    """The last stretch of every record, ours or a library's: redact, then write."""
    writing = _FOR_PEOPLE if style == "console" else _FOR_MACHINES
    return _Formatter(
        foreign_pre_chain=_SHARED,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,  # the plain traceback: no local variables
            hide_secrets,
            *writing,
        ],
    )


class Judged(dict[str, Any]):
    """An event that holds nothing but what was written by us, or judged before it came here."""


def write_judged(name: str, event: Judged) -> None:
    """One line at level info by the shortest way, for what every request says."""
    logger = logging.getLogger(name)
    if logger.isEnabledFor(logging.INFO):
        event.update(level="info", logger=name, timestamp=_now())
        logger.handle(logging.LogRecord(name, logging.INFO, "", 0, event, None, None))


def judged_text(text: str) -> str:
    """A text from outside as a line may show it."""
    return hide_in_text(str(redact(text).value))


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class _Formatter(structlog.stdlib.ProcessorFormatter):
    """Writes our own plain events, such as every access line, without copying the record first."""

    def format(self, record: logging.LogRecord) -> str:
        event: Any = record.msg
        if type(event) is Judged:
            return self._written(dict(event), _AFTER_JUDGING)
        ours = "_logger" in vars(record) and isinstance(event, dict)  # a library may log one too
        if not ours or record.exc_info or not _TRACEBACKS.isdisjoint(event):
            return super().format(record)
        return self._written(dict(event), _AFTER_TRACEBACKS)

    def _written(self, event: Any, first: int) -> str:
        for step in self.processors[first:]:
            event = step(None, "", event)
        return str(event)


def hide_secrets(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """The event without secrets; one that can't be judged is dropped rather than shown."""
    ours = {key: event.pop(key) for key in _WRITTEN_BY_US if key in event}
    try:
        judged: dict[str, Any] = redact(event).value
        texts = {key: hide_in_text(text) for key, text in judged.items() if isinstance(text, str)}
        return judged | texts | ours
    except Exception as fault:  # noqa: BLE001 - any object may fail while it is turned into text
        return ours | {"event": f"a log record was dropped: {type(fault).__name__}"}


def hide_in_text(text: str) -> str:
    """A text whose shapes are judged already, without the values of its `name=value` pairs."""
    if "=" not in text and ":" not in text:
        return text
    return redact_text(text)


def enter_request(request_id: str) -> Token[str | None]:
    """Every line from here on says the id; give the token to `leave_request`."""
    return _request_id.set(request_id)


def leave_request(token: Token[str | None]) -> None:
    """Say it no more."""
    _request_id.reset(token)


def _of_which_request(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    request_id, trace = _request_id.get(), current_trace()
    if request_id is not None:
        event.setdefault("request_id", request_id)
    if trace is not None:
        event.setdefault("trace_id", trace.trace_id)
        event.setdefault("span_id", trace.span_id)
    return event


def _ask_no_record_where_it_came_from() -> None:
    """No line of ours says file, thread or process; the standard library looks them up unasked."""
    logging._srcfile = None  # as its own documentation says
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def _reroute(level: str) -> None:
    for name in _REROUTED:
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLevelName(level)))


def _as_json(logger: WrappedLogger, name: str, event: EventDict) -> str:
    try:
        return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # lone surrogates and huge integers, which orjson does not write
        return json.dumps(event, default=str)


def _on_one_line(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Keep what came from outside from forging a second line or moving the cursor."""
    text = reveal_invisible(str(event.get("event", "")))
    event["event"] = text.replace("\r", "\\r").replace("\n", "\\n")
    return event


_TRACEBACKS = frozenset({"exc_info", "stack_info"})
_AFTER_TRACEBACKS = 3  # the processors that have nothing to do for a plain event
_AFTER_JUDGING = 4
# Made here or checked character by character, so that nothing in them needs to be judged again.
_WRITTEN_BY_US = ("timestamp", "level", "logger", "trace_id", "span_id")
_FOR_MACHINES: list[Processor] = [_as_json]
_FOR_PEOPLE: list[Processor] = [
    _on_one_line,
    structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    ),
]
_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    _of_which_request,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
