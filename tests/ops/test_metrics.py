"""/metrics: counted by route, guarded by a token or by loopback."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.django_db  # some figures are read from the tables
TOKEN = "scrape-7Hq2vX9mT4bL1nR8cW5zK3pD6fS0gJ"


def _samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _scrape() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return _samples(Client().get("/metrics").content.decode())


def _count(route: str, status: str, method: str = "GET") -> float:
    name = "contextos_http_requests_total"
    lines = Client().get("/metrics").content.decode().splitlines(keepends=True)
    labels = (("method", method), ("route", route), ("status", status))
    # Other tests left thousands of lines: what is not asked for is not parsed.
    return _samples("".join(line for line in lines if line.startswith(name))).get(
        (name, labels), 0.0
    )


def test_requests_are_counted_by_route_and_status() -> None:
    before = _count("/healthz", "200")
    Client().get("/healthz")
    Client().get("/healthz?a=1")
    assert _count("/healthz", "200") == before + 2


def test_paths_that_do_not_exist_share_one_label() -> None:
    before = _count("unmatched", "404")
    Client().get("/api/v1/secret-id-1")
    Client().get("/api/v1/secret-id-2")
    assert _count("unmatched", "404") == before + 2
    assert "secret-id" not in Client().get("/metrics").content.decode()


def test_static_files_share_one_label() -> None:
    before = _count("/static/", "200")
    Client().get("/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css")
    assert _count("/static/", "200") == before + 1


def test_a_made_up_method_makes_no_new_label() -> None:
    Client().generic("BREW", "/healthz")
    assert "BREW" not in Client().get("/metrics").content.decode()


def test_latency_version_database_and_process_are_there() -> None:
    Client().get("/healthz")
    names = {name for name, _ in _scrape()}
    assert {
        "contextos_http_request_duration_seconds_bucket",
        "contextos_build_info",
        "process_resident_memory_bytes",
    } <= names


def test_without_a_token_only_loopback_may_look(settings: Any) -> None:
    settings.METRICS_TOKEN = None
    assert Client().get("/metrics", REMOTE_ADDR="127.0.0.1").status_code == 200
    assert Client().get("/metrics", REMOTE_ADDR="::1").status_code == 200
    assert Client().get("/metrics", REMOTE_ADDR="10.0.0.8").status_code == 401
    assert Client().get("/metrics", REMOTE_ADDR="").status_code == 401


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded", "x-real-ip"])
def test_a_proxy_on_this_machine_is_not_loopback(settings: Any, header: str) -> None:
    settings.METRICS_TOKEN = None
    assert Client().get("/metrics", headers={header: "127.0.0.1"}).status_code == 401


def test_with_a_token_only_its_holder_may_look(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN
    assert Client().get("/metrics").status_code == 401
    for wrong in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer ", "Bearer ümläut"):
        assert Client().get("/metrics", headers={"authorization": wrong}).status_code == 401
    right = {"authorization": f"Bearer {TOKEN}"}
    assert Client().get("/metrics", headers=right, REMOTE_ADDR="10.0.0.8").status_code == 200
