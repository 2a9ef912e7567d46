"""People get a page, programs get a problem, nobody gets details."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path

from contextos import error_pages


def explode(request: HttpRequest) -> HttpResponse:
    """Fail in a way nobody foresaw."""
    raise RuntimeError("the vault code is 4711")


urlpatterns = [path("boom", explode), path("api/v1/boom", explode)]
handler500 = "contextos.error_pages.server_error"


def test_a_person_who_is_lost_gets_a_page() -> None:
    response = Client().get("/no/such/page/<b>")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")
    assert "<b>" not in response.content.decode()


@pytest.mark.urls(__name__)
def test_a_crash_shows_a_page_without_details() -> None:
    response = Client(raise_request_exception=False).get("/boom")
    assert response.status_code == 500
    assert response["Content-Type"].startswith("text/html")
    assert "4711" not in response.content.decode()


@pytest.mark.urls(__name__)
def test_a_crash_of_the_api_is_a_problem_with_a_trace_id() -> None:
    response = Client(raise_request_exception=False).get("/api/v1/boom")
    assert response.json()["code"] == "internal.error"
    assert response.json()["trace_id"] in response["traceparent"]


def test_a_crash_page_does_not_need_the_database() -> None:
    with mock.patch("django.db.connection.cursor", side_effect=RuntimeError("no database")):
        response = error_pages.server_error(RequestFactory().get("/admin/"))
    assert response.status_code == 500


def test_a_form_without_its_token_is_explained() -> None:
    response = Client(enforce_csrf_checks=True).post("/admin/login/", {"username": "x"})
    assert response.status_code == 403
    assert response["Content-Type"].startswith("text/html")


def test_an_unknown_host_gets_a_short_no(settings: Any) -> None:
    response = Client().get("/api/v1/x", headers={"host": "evil.example"})
    assert (response.status_code, response.json()["code"]) == (400, "request.invalid")
    assert "evil.example" not in response.content.decode()


def test_forbidden_pages_and_problems_agree() -> None:
    page = error_pages.forbidden(RequestFactory().get("/admin/x"), PermissionError("rule 9"))
    problem = error_pages.forbidden(RequestFactory().get("/api/v1/x"), PermissionError("rule 9"))
    assert page.status_code == problem.status_code == 403
    assert b"rule 9" not in page.content + problem.content
