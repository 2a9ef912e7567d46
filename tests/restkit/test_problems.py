"""Every failure of a REST request is one problem document with a code."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from contextos.core.errors import spec_for

pytestmark = [pytest.mark.urls("tests.restkit.urls"), pytest.mark.proves("C13")]

EXPECTED = {
    "coded": (409, "state.transition_refused"),
    "not-found": (404, "request.not_found"),
    "django-denied": (403, "permission.denied"),
    "denied": (403, "permission.denied"),
    "no-credentials": (401, "auth.missing"),
    "bad-credentials": (401, "auth.malformed"),
    "throttled": (429, "rate.limited"),
    "parse": (400, "request.invalid"),
    "fields": (422, "validation.failed"),
    "one-field": (422, "validation.failed"),
    "model": (422, "validation.failed"),
    "database": (503, "service.unavailable"),
    "unforeseen": (500, "internal.error"),
}


@pytest.fixture
def api() -> Client:
    return Client(raise_request_exception=False)


def _fail(api: Client, name: str) -> tuple[Any, dict[str, Any]]:
    response = api.get(f"/api/v1/fail/{name}")
    return response, response.json()


@pytest.mark.parametrize(("name", "status", "code"), [(n, s, c) for n, (s, c) in EXPECTED.items()])
def test_each_failure_has_its_status_and_code(
    api: Client, name: str, status: int, code: str
) -> None:
    response, body = _fail(api, name)
    assert (response.status_code, body["status"], body["code"]) == (status, status, code)
    assert response["Content-Type"] == "application/problem+json"


def test_a_problem_has_every_member_a_client_branches_on(api: Client) -> None:
    _, body = _fail(api, "coded")
    spec = spec_for("state.transition_refused")
    assert body["type"] == "urn:contextos:error:state.transition_refused"
    assert (body["title"], body["kind"]) == (spec.title, spec.kind.value)
    assert (body["retryable"], body["remediation"]) == (spec.retryable, spec.remediation)
    assert body["instance"] == "/api/v1/fail/coded"
    assert body["details"] == {"from": "draft"}


def test_the_trace_id_of_the_caller_is_in_the_problem(api: Client) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    header = f"00-{trace_id}-b7ad6b7169203331-01"
    body = api.get("/api/v1/fail/coded", headers={"traceparent": header}).json()
    assert body["trace_id"] == trace_id


@pytest.mark.parametrize("name", ["not-found", "django-denied", "database", "unforeseen"])
def test_inner_details_never_leave(api: Client, name: str) -> None:
    response, _ = _fail(api, name)
    for secret in ("secret table", "rule 9", "boss", "4711", "Traceback"):
        assert secret not in response.content.decode()


def test_a_failure_outside_the_rest_framework_looks_the_same(api: Client) -> None:
    response = api.get("/api/v1/plain")
    assert response.status_code == 500
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["code"] == "internal.error"
    assert "4711" not in response.content.decode()


def test_an_unknown_api_path_is_a_problem(api: Client) -> None:
    response = api.get("/api/v1/nowhere")
    assert (response.status_code, response.json()["code"]) == (404, "request.not_found")


def test_field_errors_name_the_fields(api: Client) -> None:
    assert _fail(api, "fields")[1]["details"] == {"fields": {"amount": ["A number is required."]}}
    assert _fail(api, "model")[1]["details"] == {"fields": {"name": ["Already taken."]}}
    assert _fail(api, "one-field")[1]["details"] == {"fields": {"": ["Too long."]}}


def test_waiting_times_are_told_in_whole_seconds(api: Client) -> None:
    response, body = _fail(api, "throttled")
    assert (response["Retry-After"], body["retry_after_ms"]) == ("3", 3000)
    assert _fail(api, "database")[0]["Retry-After"] == "1"


def test_missing_credentials_are_challenged_without_an_error_code(api: Client) -> None:
    assert _fail(api, "no-credentials")[0]["WWW-Authenticate"] == 'Bearer realm="contextos"'


def test_rejected_credentials_are_challenged_with_the_reason(api: Client) -> None:
    assert 'error="invalid_token"' in _fail(api, "expired")[0]["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in _fail(api, "scope")[0]["WWW-Authenticate"]


def test_a_wrong_method_names_the_right_ones(api: Client) -> None:
    response = api.delete("/api/v1/echo")
    assert (response.status_code, response.json()["code"]) == (405, "request.method_not_allowed")
    assert "POST" in response["Allow"]


def test_a_format_that_is_not_json_is_refused(api: Client) -> None:
    response = api.post("/api/v1/echo", "a=1", content_type="application/x-www-form-urlencoded")
    assert (response.status_code, response.json()["code"]) == (
        415,
        "request.unsupported_media_type",
    )


def test_a_caller_who_takes_no_json_is_told_so_in_json(api: Client) -> None:
    response = api.get("/api/v1/fail/coded", headers={"accept": "text/html"})
    assert (response.status_code, response.json()["code"]) == (406, "request.not_acceptable")


def test_problems_are_never_cached(api: Client) -> None:
    assert _fail(api, "coded")[0]["Cache-Control"] == "no-store"
