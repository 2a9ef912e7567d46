"""Each request has its ids, echoes them, and leaves one line in the log."""

from __future__ import annotations

import logging
import re

import pytest
from django.test import AsyncClient, Client

from contextos.identity.models import User
from contextos.logs import enter_request, leave_request
from contextos.trace_context import begin_trace, enter_trace, leave_trace
from tests.ops.capture import written_log

TRACE = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def test_a_sane_request_id_is_kept() -> None:
    response = Client().get("/healthz", headers={"x-request-id": "order-4711.retry_2"})
    assert response["X-Request-ID"] == "order-4711.retry_2"


@pytest.mark.parametrize(
    "given", ["", "short", "a b c d e f g h", "x" * 200, "<script>alert(1)", "ümläut-id"]
)
def test_any_other_request_id_is_replaced(given: str) -> None:
    response = Client().get("/healthz", headers={"x-request-id": given})
    assert re.fullmatch(r"req_[0-9a-f]{32}", response["X-Request-ID"])


def test_the_trace_of_the_caller_is_echoed() -> None:
    headers = {"traceparent": TRACEPARENT, "tracestate": "vendor=1"}
    response = Client().get("/healthz", headers=headers)
    assert response["traceparent"] == TRACEPARENT
    assert response["tracestate"] == "vendor=1"


def test_a_caller_without_a_trace_gets_one() -> None:
    response = Client().get("/healthz")
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", response["traceparent"])
    assert not response.has_header("tracestate")


def test_errors_echo_the_ids_too() -> None:
    response = Client().get("/api/v1/nowhere", headers={"traceparent": TRACEPARENT})
    assert response["traceparent"] == TRACEPARENT
    assert response["X-Request-ID"]
    assert response.json()["trace_id"] == TRACE


def test_the_access_line_holds_the_route_and_never_the_query() -> None:
    headers = {"x-request-id": "request-12345", "traceparent": TRACEPARENT}
    with written_log() as log:
        Client().get("/healthz?access_token=s3cr3t", headers=headers)
    line = log.named("request")[0]
    assert (line["method"], line["route"], line["status"]) == ("GET", "/healthz", 200)
    assert (line["request_id"], line["trace_id"]) == ("request-12345", TRACE)
    assert line["duration_ms"] >= 0
    assert re.fullmatch(r"[0-9a-f]{16}", line["span_id"])
    assert "s3cr3t" not in log.text
    assert "principal" not in line


@pytest.mark.parametrize("style", ["json", "console"])
def test_the_access_line_hides_a_secret_that_a_caller_took_for_an_id(style: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    with written_log(style) as log:
        Client().get("/healthz", headers={"x-request-id": secret})
        Client().generic(secret, "/healthz")
    assert len(log.text.splitlines()) == 2
    assert secret not in log.text


def test_other_lines_of_a_request_say_which_it_is() -> None:
    trace = begin_trace(TRACEPARENT)
    with written_log() as log:
        request, within = enter_request("request-12345"), enter_trace(trace)
        logging.getLogger("library").warning("inside")
        leave_trace(within)
        leave_request(request)
        logging.getLogger("library").warning("outside")
    inside, outside = log.records
    assert (inside["request_id"], inside["trace_id"]) == ("request-12345", TRACE)
    assert inside["span_id"] == trace.span_id
    assert not {"request_id", "trace_id", "span_id"} & set(outside)


def test_the_next_request_starts_clean() -> None:
    client = Client()
    with written_log() as log:
        client.get("/healthz", headers={"x-request-id": "request-first"})
        client.get("/healthz")
    first, second = log.named("request")
    assert first["request_id"] == "request-first"
    assert second["request_id"] != "request-first"
    assert first["trace_id"] != second["trace_id"]


@pytest.mark.django_db
def test_the_access_line_names_who_asked() -> None:
    person = User.objects.create(username="root", is_superuser=True)
    client = Client()
    client.force_login(person, backend="contextos.identity.backends.MembershipBackend")
    with written_log() as log:
        client.get("/admin/")
    assert log.named("request")[0]["principal"] == f"user:{person.pk}"


async def _ask_async() -> dict[str, str]:
    response = await AsyncClient().get("/healthz", headers={"traceparent": TRACEPARENT})
    return dict(response.items())


def test_the_same_happens_under_asgi() -> None:
    import asyncio

    headers = asyncio.run(_ask_async())
    assert headers["traceparent"] == TRACEPARENT
    assert headers["Content-Security-Policy"]
