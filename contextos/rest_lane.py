"""REST's own way to its views: nothing on it that only pages need.

The layers of a page (sessions, people, messages, forms' tokens, static files) cost a governed call
more than its policy does, for nothing. What they do for every answer, the check of the host's name
and the headers that keep a browser in bounds, is done here at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.response import SimpleTemplateResponse
from django.urls import ResolverMatch, get_resolver
from django.utils.module_loading import import_string

from contextos import telemetry
from contextos.body_limit import announces_too_much
from contextos.error_pages import too_large
from contextos.middleware import Middleware, harden
from contextos.page_middleware import REST

Answer = Callable[[HttpRequest], HttpResponseBase]


class RestLaneMiddleware(Middleware):
    """Answers REST; everything else goes on through the layers below.

    An event loop and a process with a collector take those layers for REST too: the first has no
    thread for the views, and the second's tracing stands among them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        self._is_closed = self.asynchronous or telemetry.is_on()
        self._security = SecurityMiddleware(get_response)
        self._headers = {secure: _usual_headers(self._security, secure) for secure in (True, False)}
        self._views = _views_within(settings.REST_MIDDLEWARE)
        self._answer = _guarded(self._judged)

    def __call__(self, request: HttpRequest) -> Any:
        """Answer here, or pass on."""
        if self._is_closed or not request.path_info.startswith(REST):
            return self.get_response(request)
        return self._dressed(request, self._answer(request))

    def _judged(self, request: HttpRequest) -> HttpResponseBase:
        if announces_too_much(request):
            return too_large(request)
        request.get_host()  # raises where the name is not one of ours
        return self._security.process_request(request) or self._views(request)

    def _dressed(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """What the view has set itself stays."""
        held = response.headers
        usual = self._headers[request.is_secure()]
        held._store = {**usual, **held._store}  # set one by one they cost thrice the rest
        if not response.streaming and "content-length" not in held._store:
            length = len(response.content)  # type: ignore[attr-defined]
            held._store["content-length"] = ("Content-Length", str(length))
        return response


def _usual_headers(security: SecurityMiddleware, secure: bool) -> dict[str, tuple[str, str]]:
    """Those of every answer, as the layers of pages set them: asked once."""
    request = HttpRequest()
    request.path = request.path_info = REST
    request._get_scheme = lambda: "https" if secure else "http"  # type: ignore[attr-defined]
    response = HttpResponse()
    del response["Content-Type"]
    framed = XFrameOptionsMiddleware(lambda _: response)
    for finish in (framed.process_response, security.process_response, harden):
        finish(request, response)
    return dict(response.headers._store)


class _Views:
    """Finds the view and asks it; one whose address has no variable part is looked up once."""

    def __init__(self) -> None:
        self._matches: dict[str, ResolverMatch] = {}

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """As Django's own last step; no view of REST is asynchronous or wants a transaction."""
        match = request.resolver_match = self._match(request.path_info)
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return response.render() if isinstance(response, SimpleTemplateResponse) else response

    def _match(self, path: str) -> ResolverMatch:
        known = self._matches.get(path)
        if known is not None:
            return known
        match = get_resolver().resolve(path)
        if not match.args and not match.kwargs:
            self._matches[path] = match
        return match


def _views_within(layers: list[str]) -> Answer:
    answer = _guarded(_Views())
    for name in reversed(layers):
        answer = _guarded(import_string(name)(answer))
    return answer


def _guarded(answer: Answer) -> Answer:
    """With Django's own answers to whatever was raised."""
    return cast(Answer, convert_exception_to_response(answer))
