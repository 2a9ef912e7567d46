"""Errors outside a view: a page for people, problem details for programs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from contextos.core.errors import ContextOSError, coded_error, http_status
from contextos.restkit.problems import problem_response, speaks_problem
from contextos.trace_context import current_trace


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler400: a host, cookie or body that can't be trusted."""
    return _answer(request, "request.invalid", "errors/400.html")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler403; a refusal that says why (`raise PermissionDenied from ...`) is shown."""
    told = exception.__cause__
    if not isinstance(told, ContextOSError):
        return _answer(request, "permission.denied", "errors/403.html")
    if speaks_problem(request):
        return problem_response(told, request)
    return render(request, "errors/403.html", {"error": told, "told": told}, status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler404; never echoes the path, which may hold somebody's markup."""
    return _answer(request, "request.not_found", "errors/404.html")


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; the details stand in the log under the trace id."""
    error = coded_error("internal.error")
    if speaks_problem(request):
        return problem_response(error, request)
    # Without the request: its context processors may need the very database that failed.
    page = render_to_string("errors/500.html", {"error": error, "trace": current_trace()})
    return HttpResponse(page, status=http_status(error))


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its CSRF token."""
    return _answer(request, "permission.denied", "errors/csrf.html")


def too_large(request: HttpRequest) -> HttpResponse:
    """A body beyond every bound; the session is not looked at, so that nothing is read for it."""
    error = coded_error("json.too_large", message="The body is larger than this service takes.")
    if speaks_problem(request):
        return problem_response(error, request)
    page = render_to_string("errors/413.html", {"error": error})
    return HttpResponse(page, status=http_status(error))


def _answer(request: HttpRequest, code: str, template: str) -> HttpResponse:
    error = coded_error(code)
    if speaks_problem(request):
        return problem_response(error, request)
    return render(request, template, {"error": error}, status=http_status(error))
