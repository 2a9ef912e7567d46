"""Turns every exception of a request into RFC 9457 problem details, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.encoding import escape_uri_path
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from contextos.core.errors import (
    PROBLEM_CONTENT_TYPE,
    ContextOSError,
    ErrorKind,
    coded_error,
    http_status,
    problem,
)
from contextos.restkit import error_codes  # noqa: F401 - declares the codes used below
from contextos.trace_context import current_trace

_DATABASE_RETRY_MS = 1000
_NO_CREDENTIALS = "auth.missing"
_MACHINE_PATHS = (
    "/api/",
    "/mcp/",
    "/schemas/",
    "/.well-known/",
    "/healthz/",
    "/readyz/",
    "/metrics/",
)


def exception_handler(exc: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook; None lets an unforeseen exception reach Django's handler500."""
    error = as_coded_error(exc)
    if error is None:
        return None
    set_rollback()
    request = context.get("request")
    return Response(
        problem_body(error, instance=_place(request) if request is not None else None),
        status=http_status(error),
        headers=problem_headers(error),
        content_type=PROBLEM_CONTENT_TYPE,
    )


def problem_response(error: ContextOSError, request: HttpRequest) -> HttpResponse:
    """The same answer for code that runs outside DRF."""
    return HttpResponse(
        orjson.dumps(problem_body(error, instance=_place(request)), default=str),
        status=http_status(error),
        headers=problem_headers(error),
        content_type=PROBLEM_CONTENT_TYPE,
    )


def _place(request: Any) -> str:
    """The path as RFC 9457 wants it: a URI reference, whatever was spelt out in it."""
    return escape_uri_path(request.path)


def speaks_problem(request: HttpRequest) -> bool:
    """Whether a path is for programs, which get problem details and never an HTML page."""
    return f"{request.path}/".startswith(_MACHINE_PATHS)


def problem_body(error: ContextOSError, *, instance: str | None) -> dict[str, Any]:
    """The members of the answer, with the trace id to quote to the operators."""
    trace = current_trace()
    extra = {"trace_id": trace.trace_id} if trace else {}
    return problem(error, instance=instance) | extra


def problem_headers(error: ContextOSError) -> dict[str, str]:
    """Headers that belong to the error whatever view raised it."""
    headers = {"Cache-Control": "no-store"}
    if error.retry_after_ms is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after_ms / 1000))
    challenge = _challenge(error)
    if challenge:
        headers["WWW-Authenticate"] = challenge
    return headers


def as_coded_error(exc: BaseException) -> ContextOSError | None:
    """The coded error for an exception this service foresees, else None."""
    if isinstance(exc, ContextOSError):
        return exc
    for kinds, translate in _TRANSLATIONS:
        if isinstance(exc, kinds):
            error: ContextOSError = translate(exc)
            return error
    return None


def _challenge(error: ContextOSError) -> str | None:
    # RFC 6750, section 3: no error code when the request carried no credentials at all.
    status = http_status(error)
    if status == 401:
        suffix = "" if error.code == _NO_CREDENTIALS else ', error="invalid_token"'
        return f'Bearer realm="contextos"{suffix}'
    if error.kind is ErrorKind.SCOPE_STEP_UP or error.code == "auth.scope":
        return 'Bearer realm="contextos", error="insufficient_scope"'
    return None


def _simple(code: str) -> Callable[[Any], ContextOSError]:
    return lambda exc: coded_error(code)


def _throttled(exc: exceptions.Throttled) -> ContextOSError:
    seconds: float | None = getattr(exc, "wait", None)
    wait = None if seconds is None else math.ceil(seconds * 1000)
    return coded_error("rate.limited", retry_after_ms=wait)


def _validation(exc: exceptions.ValidationError) -> ContextOSError:
    return coded_error("validation.failed", data={"fields": _fields(exc.detail)})


def _model_validation(exc: ValidationError) -> ContextOSError:
    detail = exc.message_dict if hasattr(exc, "error_dict") else {"": exc.messages}
    return coded_error("validation.failed", data={"fields": _fields(detail)})


def _fields(detail: Any) -> Any:
    if isinstance(detail, Mapping):
        return {str(name): _fields(value) for name, value in detail.items()}
    if isinstance(detail, list | tuple):
        return [_fields(value) for value in detail]
    return str(detail)


def _unavailable(exc: Exception) -> ContextOSError:
    return coded_error("service.unavailable", retry_after_ms=_DATABASE_RETRY_MS)


_TRANSLATIONS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Any], ...] = (
    (Http404, _simple("request.not_found")),
    (exceptions.NotFound, _simple("request.not_found")),
    ((PermissionDenied, exceptions.PermissionDenied), _simple("permission.denied")),
    (exceptions.NotAuthenticated, _simple(_NO_CREDENTIALS)),
    (exceptions.AuthenticationFailed, _simple("auth.malformed")),
    (exceptions.MethodNotAllowed, _simple("request.method_not_allowed")),
    (exceptions.NotAcceptable, _simple("request.not_acceptable")),
    (exceptions.UnsupportedMediaType, _simple("request.unsupported_media_type")),
    (exceptions.Throttled, _throttled),
    (exceptions.ParseError, _simple("request.invalid")),
    (exceptions.ValidationError, _validation),
    (ValidationError, _model_validation),
    ((OperationalError, InterfaceError), _unavailable),
)
