"""Views that fail in every way a REST view can, under the product's own settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from rest_framework import exceptions
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error
from contextos.restkit.views import APIView

FAILURES: dict[str, Callable[[], Exception]] = {
    "coded": lambda: coded_error("state.transition_refused", data={"from": "draft"}),
    "not-found": lambda: Http404("row 17 of the secret table"),
    "django-denied": lambda: PermissionDenied("because of rule 9"),
    "denied": exceptions.PermissionDenied,
    "no-credentials": exceptions.NotAuthenticated,
    "bad-credentials": exceptions.AuthenticationFailed,
    "expired": lambda: coded_error("auth.expired"),
    "scope": lambda: coded_error("auth.scope"),
    "throttled": lambda: exceptions.Throttled(wait=2.2),
    "parse": exceptions.ParseError,
    "fields": lambda: exceptions.ValidationError({"amount": ["A number is required."]}),
    "one-field": lambda: ValidationError("Too long."),
    "model": lambda: ValidationError({"name": ["Already taken."]}),
    "database": lambda: OperationalError("password authentication failed for user boss"),
    "unforeseen": lambda: RuntimeError("the vault code is 4711"),
}


class FailingView(APIView):
    """Raises what the path asks for."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    def get(self, request: Request, name: str) -> Response:
        raise FAILURES[name]()


class EchoView(APIView):
    """Answers with what was sent."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    def post(self, request: Request) -> Response:
        return Response({"received": request.data})


def plain_failure(request: HttpRequest) -> HttpResponse:
    """A failure outside DRF."""
    raise RuntimeError("the vault code is 4711")


urlpatterns = [
    path("api/v1/fail/<str:name>", FailingView.as_view()),
    path("api/v1/echo", EchoView.as_view()),
    path("api/v1/plain", plain_failure),
]
handler400 = "contextos.error_pages.bad_request"
handler403 = "contextos.error_pages.forbidden"
handler404 = "contextos.error_pages.not_found"
handler500 = "contextos.error_pages.server_error"
