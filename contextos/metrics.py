"""Prometheus metrics: what this process counts, and the guarded /metrics page."""

from __future__ import annotations

import hmac
from functools import lru_cache

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, Info, generate_latest

from contextos import __version__
from contextos.core.errors import coded_error
from contextos.loopback import is_loopback_caller
from contextos.restkit.problems import problem_response

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_LATENCY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REQUESTS = Counter(
    "contextos_http_requests_total", "Requests answered.", ("method", "route", "status")
)
LATENCY = Histogram(
    "contextos_http_request_duration_seconds",
    "Time from first byte to answer.",
    ("method", "route"),
    buckets=_LATENCY_BUCKETS,
)
BUILD = Info("contextos_build", "The version running and the database behind it.")


def observe_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Count one answer; `route` is a template, so that ids never become label values."""
    label = method if method in METHODS else "OTHER"
    requests, latency = _series(label, route, status)
    requests.inc()
    latency.observe(seconds)


@lru_cache(maxsize=1024)
def _series(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(method, route, str(status)), LATENCY.labels(method, route)


@require_GET
def metrics_view(request: HttpRequest) -> HttpResponse:
    """The scrape page, for the holder of the metrics token, or loopback when none is set.

    Each worker process answers for itself; the default of one worker with threads is exact.
    """
    if not _may_scrape(request):
        return problem_response(coded_error("auth.missing"), request)
    BUILD.info({"version": __version__, "database": connection.vendor})
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


def _may_scrape(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    if not token:
        return is_loopback_caller(request)
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())
