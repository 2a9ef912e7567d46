"""Middleware of the composition root: request and trace ids, access log, security headers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve
from django.utils.functional import LazyObject

from contextos import telemetry
from contextos.body_limit import announces_too_much
from contextos.core.randomness import random_bytes
from contextos.error_pages import too_large
from contextos.logs import Judged, enter_request, judged_text, leave_request, write_judged
from contextos.metrics import METHODS, observe_request
from contextos.trace_context import TraceContext, begin_trace, enter_trace, leave_trace

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,127}")
_ACCESS = "contextos.access"
_UNMATCHED = "unmatched"
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


class Middleware:
    """Runs under WSGI threads and under ASGI without a thread hop."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.asynchronous = iscoroutinefunction(get_response)
        if self.asynchronous:
            markcoroutinefunction(self)  # type: ignore[type-var]


class RequestContextMiddleware(Middleware):
    """Gives each request its ids, binds them to the log, echoes them, and logs one line."""

    def __call__(self, request: HttpRequest) -> Any:
        """Serve one request inside its own context."""
        if self.asynchronous:
            return self._serve_async(request)
        visit = _Visit(request)
        try:
            return visit.finish(self.get_response(request))
        finally:
            visit.close()

    async def _serve_async(self, request: HttpRequest) -> HttpResponseBase:
        visit = _Visit(request)
        try:
            return visit.finish(await self.get_response(request))
        finally:
            visit.close()


class _Visit:
    """One request from its first byte to its answer."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.started = time.perf_counter()
        asked = request.META  # the mapping of headers would have to be made first
        given = asked.get("HTTP_X_REQUEST_ID")
        self.request_id = request_id_for(given)
        self._was_given_id = given is not None
        caller = asked.get("HTTP_TRACEPARENT"), asked.get("HTTP_TRACESTATE")
        self.trace = telemetry.adopt_active_span(begin_trace(*caller))
        request.request_id = self.request_id  # type: ignore[attr-defined]
        request.trace = self.trace  # type: ignore[attr-defined]
        self._trace_token = enter_trace(self.trace)
        self._request_token = enter_request(self.request_id)

    def finish(self, response: HttpResponseBase) -> HttpResponseBase:
        """Echo the ids and write the access line."""
        response["X-Request-ID"] = self.request_id
        _echo_trace(response, self.trace)
        seconds = time.perf_counter() - self.started
        method, route = self.request.method or "", route_of(self.request)
        observe_request(method=method, route=route, status=response.status_code, seconds=seconds)
        write_judged(
            _ACCESS,
            Judged(
                method=_shown(method),
                route=route,
                status=response.status_code,
                duration_ms=round(seconds * 1000, 2),
                **_principal(self.request),
                event="request",
                request_id=_shown(self.request_id) if self._was_given_id else self.request_id,
                trace_id=self.trace.trace_id,
                span_id=self.trace.span_id,
            ),
        )
        return response

    def close(self) -> None:
        """Leave nothing behind for the next request of this thread."""
        leave_request(self._request_token)
        leave_trace(self._trace_token)


class ProbeMiddleware(Middleware):
    """Answers probes before the host name is judged: orchestrators and scrapers ask by address."""

    def __call__(self, request: HttpRequest) -> Any:
        """Serve a probe at once, anything else as usual."""
        if self.asynchronous:
            return self._serve_async(request)
        return _probe(request) if request.path_info in _PROBES else self.get_response(request)

    async def _serve_async(self, request: HttpRequest) -> HttpResponseBase:
        # Probes ask the database, so they need a thread.
        if request.path_info in _PROBES:
            return await sync_to_async(_probe)(request)
        return cast(HttpResponseBase, await self.get_response(request))


def _probe(request: HttpRequest) -> HttpResponseBase:
    request.resolver_match = resolve(request.path_info)
    answer: HttpResponseBase = request.resolver_match.func(request)
    return answer


class BodyLimitMiddleware(Middleware):
    """Turns away bodies that nothing here would take, before anybody reads them."""

    def __call__(self, request: HttpRequest) -> Any:
        """Refuse at once or go on."""
        if self.asynchronous:
            return self._serve_async(request)
        return too_large(request) if announces_too_much(request) else self.get_response(request)

    async def _serve_async(self, request: HttpRequest) -> HttpResponseBase:
        if announces_too_much(request):
            return too_large(request)
        return cast(HttpResponseBase, await self.get_response(request))


class SecurityHeadersMiddleware(Middleware):
    """Adds the headers Django has no setting for; a view's own choice is kept."""

    def __call__(self, request: HttpRequest) -> Any:
        """Serve one request and harden the answer."""
        if self.asynchronous:
            return self._serve_async(request)
        return harden(request, self.get_response(request))

    async def _serve_async(self, request: HttpRequest) -> HttpResponseBase:
        return harden(request, await self.get_response(request))


def harden(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Set every header that the view has not set itself."""
    headers = {
        "Content-Security-Policy": settings.CONTENT_SECURITY_POLICY,
        "Permissions-Policy": _PERMISSIONS_POLICY,
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Permitted-Cross-Domain-Policies": "none",
    }
    if request.path.startswith("/api/"):
        headers["Cache-Control"] = "no-store"
    for name, value in headers.items():
        if not response.has_header(name):
            response[name] = value
    return response


def request_id_for(given: str | None) -> str:
    """The caller's id when it is harmless in a log, else a new one."""
    if given and _REQUEST_ID.fullmatch(given):
        return given
    return f"req_{random_bytes(16).hex()}"


def route_of(request: HttpRequest) -> str:
    """The route's template, which holds neither ids nor query."""
    match = request.resolver_match
    if match is not None:
        return f"/{match.route}"
    static = settings.STATIC_URL  # whitenoise answers for these before any route is looked up
    return static if request.path_info.startswith(static) else _UNMATCHED


def _shown(text: str) -> str:
    """What a caller wrote, as the log may show it."""
    return text if text in METHODS else judged_text(text)


def _echo_trace(response: HttpResponseBase, trace: TraceContext) -> None:
    response["traceparent"] = trace.echo
    if trace.state:
        response["tracestate"] = trace.state


def _principal(request: HttpRequest) -> dict[str, str]:
    """Who asked, if somebody has already looked: the log line must not query the database."""
    user = getattr(request, "_cached_user", None) or getattr(request, "user", None)
    if user is None or isinstance(user, LazyObject) or not user.is_authenticated:
        return {}
    kind, name = getattr(user, "kind", "user"), getattr(user, "id", None)
    return {"principal": f"{kind}:{name}"}


_PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "browsing-topics",
        "camera",
        "display-capture",
        "geolocation",
        "gyroscope",
        "magnetometer",
        "microphone",
        "midi",
        "payment",
        "usb",
    )
)
