"""REST has a way of its own past the layers of pages, and loses nothing they do for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.http import HttpRequest
from django.test import Client, RequestFactory, override_settings
from django.urls import URLPattern, URLResolver, get_resolver

from contextos.page_middleware import REST
from contextos.rest_lane import RestLaneMiddleware

LANE = "contextos.rest_lane.RestLaneMiddleware"
NOWHERE = "/api/v1/nowhere"


def _whole() -> Any:
    """Settings under which REST passes every layer of a page."""
    return override_settings(MIDDLEWARE=[name for name in settings.MIDDLEWARE if name != LANE])


def _answers(path: str, **request: Any) -> tuple[Any, Any]:
    """The answer on the lane, and the one through all layers."""
    on_lane = Client().get(path, **request)
    with _whole():
        return on_lane, Client().get(path, **request)


def _headers(answer: Any) -> dict[str, str]:
    own = {"x-request-id", "traceparent", "content-length"}
    return {name: value for name, value in answer.items() if name.lower() not in own}


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("path", [NOWHERE, "/api/v1/runs", "/api/v1/tool-calls"])
def test_an_answer_is_dressed_as_the_layers_of_pages_dress_it(path: str, secure: bool) -> None:
    with override_settings(SECURE_HSTS_SECONDS=3600):
        on_lane, through_all = _answers(path, secure=secure)
    assert on_lane.status_code == through_all.status_code
    assert _headers(on_lane) == _headers(through_all)
    assert on_lane.has_header("Content-Length")
    assert on_lane.has_header("Strict-Transport-Security") is secure


def test_a_strange_host_is_refused_in_the_same_words() -> None:
    on_lane, through_all = _answers(NOWHERE, headers={"host": "evil.example"})
    assert on_lane.status_code == through_all.status_code == 400
    assert _headers(on_lane).items() >= _headers(through_all).items()
    assert on_lane.json()["code"] == through_all.json()["code"]


def test_plain_http_is_sent_to_https_where_that_is_asked_for() -> None:
    with override_settings(SECURE_SSL_REDIRECT=True):
        on_lane, through_all = _answers("/api/v1/runs")
    assert on_lane.status_code == through_all.status_code == 301
    assert on_lane["Location"] == through_all["Location"] == "https://testserver/api/v1/runs"


def test_a_body_beyond_every_bound_is_refused_unread() -> None:
    how = {"data": b"x" * 2048, "content_type": "application/json"}
    with override_settings(REQUEST_BODY_LIMIT=1024):
        assert Client().post("/api/v1/tool-calls", **how).status_code == 413  # type: ignore[arg-type]


def test_what_a_view_says_of_its_answer_is_kept() -> None:
    assert Client().get(NOWHERE)["Content-Type"] == "application/problem+json"


def test_pages_and_probes_go_on_through_their_layers() -> None:
    assert Client().get("/healthz").status_code == 200
    assert Client().get("/admin/login/").cookies["csrftoken"].value


def test_no_layer_of_pages_sees_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    module = "django.middleware.common.CommonMiddleware.process_request"
    monkeypatch.setattr(module, lambda self, request: passed.append(request.path))
    Client().get(NOWHERE)
    assert passed == []
    Client().get("/healthz-not")
    assert passed == ["/healthz-not"]


def _views(patterns: list[Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _views(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback


def test_every_view_of_rest_can_be_asked_without_those_layers() -> None:
    """No token of a form to be checked, no event loop, no transaction around the whole of it."""
    every = _views(get_resolver().url_patterns)
    ours = [view for route, view in every if f"/{route}".startswith(REST)]
    assert len(ours) > 20
    for view in ours:
        assert getattr(view, "csrf_exempt", False), view
        assert not iscoroutinefunction(view), view
    assert BaseHandler().make_view_atomic(ours[0]) is ours[0]


def test_an_event_loop_takes_every_layer() -> None:
    async def below(request: HttpRequest) -> str:
        return request.path

    asked = RequestFactory().get(NOWHERE)
    assert async_to_sync(RestLaneMiddleware(below))(asked) == NOWHERE
