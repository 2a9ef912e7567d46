"""Every answer carries the headers that keep a browser in bounds."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory

from contextos.middleware import harden

EVERYWHERE = ("/healthz", "/api/docs", "/api/v1/nowhere", "/nowhere")


@pytest.mark.parametrize("path", EVERYWHERE)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Content-Type-Options", "nosniff"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("X-Permitted-Cross-Domain-Policies", "none"),
    ],
)
def test_each_answer_has_the_header(path: str, name: str, value: str) -> None:
    assert Client().get(path)[name] == value


def test_the_policy_of_the_settings_is_sent() -> None:
    response = Client().get("/api/docs")
    assert response["Content-Security-Policy"] == settings.CONTENT_SECURITY_POLICY
    assert "camera=()" in response["Permissions-Policy"]


def test_a_view_may_be_stricter_than_the_default() -> None:
    strict = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})
    hardened = harden(RequestFactory().get("/admin/"), strict)
    assert hardened["Content-Security-Policy"] == "default-src 'none'"


def test_api_answers_are_kept_by_no_cache() -> None:
    request = RequestFactory().get("/api/v1/runs")
    assert harden(request, HttpResponse())["Cache-Control"] == "no-store"


def test_pages_and_files_keep_their_own_caching() -> None:
    hardened = harden(RequestFactory().get("/static/x.css"), HttpResponse())
    assert not hardened.has_header("Cache-Control")
