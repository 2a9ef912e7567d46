"""Fetching icons: only when a reviewer asks, without credentials, from a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.urls import reverse

from audit.models import AuditEvent
from contextos.net import close_pools
from gateway.icons import fetch_icons
from registry.models import AdapterVersion, Icon
from tests.net.upstreams import Upstream, answering, http_answer, redirecting, upstream
from tests.registry.admin.visits import browser, page, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.test_icons import drawn

PNG = "Content-Type: image/png\r\n"


@pytest.fixture(autouse=True)
def _closed_pools() -> Iterator[None]:
    yield
    close_pools()


@pytest.fixture
def server() -> Iterator[Upstream]:
    with upstream(answering(http_answer(drawn(), headers=PNG))) as started:
        yield started


def _version(house: House, src: str, environment: str = "development") -> AdapterVersion:
    manifest = orders(environment=environment)
    manifest["capabilities"][0]["icons"] = [{"src": src, "mimeType": "image/png"}]
    return house.in_review(manifest)


def _fetch(house: House, version: AdapterVersion) -> Icon:
    fetch_icons(version=version, actor=house.actor("reviewer"))
    return Icon.objects.get()


@pytest.mark.proves("B8", "C11")
def test_looking_fetches_nothing_and_the_button_fetches_once(
    house: House, server: Upstream
) -> None:
    version = _version(house, f"{server.url}/i.png")
    reviewer = browser(house, "reviewer")
    tab = {"tab": "capabilities"}
    before = text_of(reviewer.get(version_page(version), tab))
    assert server.connections == 0
    assert "Fetch the icons" in before
    assert server.url not in before
    reviewer.post(reverse("admin:gateway_fetch_icons", args=[version.pk]))
    after = text_of(reviewer.get(version_page(version), tab))
    address = page("icon", Icon.objects.get().digest.removeprefix("sha256:"))
    assert f'src="{address}"' in after
    assert server.connections == 1
    assert AuditEvent.objects.filter(action="gateway.icons_fetched").count() == 1


def test_no_credential_leaves_with_the_request(house: House, server: Upstream) -> None:
    version = _version(house, f"{server.url}/i.png")
    browser(house, "reviewer").post(reverse("admin:gateway_fetch_icons", args=[version.pk]))
    sent = server.requests[0].lower()
    for name in (b"authorization", b"cookie", b"referer"):
        assert name not in sent


def test_the_picture_is_served_by_us_and_sniffed_by_nobody(house: House, server: Upstream) -> None:
    icon = _fetch(house, _version(house, f"{server.url}/i.png"))
    address = page("icon", icon.digest.removeprefix("sha256:"))
    answer = browser(house, "auditor").get(address)
    assert answer["Content-Type"] == "image/png"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer.content.startswith(b"\x89PNG")
    assert browser(house, "auditor").get(page("icon", "0" * 64)).status_code == 404


def test_another_tenants_picture_is_not_found(
    house: House, neighbour: House, server: Upstream
) -> None:
    icon = _fetch(house, _version(house, f"{server.url}/i.png"))
    address = page("icon", icon.digest.removeprefix("sha256:"))
    assert browser(neighbour, "admin").get(address).status_code == 404


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http_answer(b"<svg/>", headers="Content-Type: image/svg+xml\r\n"), "image/svg+xml"),
        (http_answer(b"<html>", headers=PNG), "first bytes"),
        (http_answer(b"x" * 70_000, headers=PNG), ""),
        (http_answer(b"", status="404 Not Found"), "answers 404"),
        (http_answer(drawn("JPEG"), headers="Content-Type: image/jpeg\r\n"), "served as"),
    ],
)
def test_what_is_no_small_picture_leaves_a_placeholder_and_its_reason(
    house: House, answer: bytes, words: str
) -> None:
    with upstream(answering(answer)) as server:
        icon = _fetch(house, _version(house, f"{server.url}/i.png"))
    assert icon.picture is None
    assert words in icon.fault
    assert icon.fault


def test_a_redirect_is_not_followed(house: House, server: Upstream) -> None:
    with upstream(redirecting(f"{server.url}/elsewhere.png")) as first:
        icon = _fetch(house, _version(house, f"{first.url}/i.png"))
    assert icon.picture is None
    assert server.connections == 0


@pytest.mark.proves("C11")
def test_in_production_private_hosts_and_plain_http_are_not_asked(
    house: House, server: Upstream
) -> None:
    version = _version(house, "https://icons.example/i.png", environment="production")
    icon = _fetch(house, version)
    assert icon.picture is None
    manifest = orders(environment="production", version="1.9.0")
    manifest["capabilities"][0]["icons"] = [{"src": f"{server.url}/i.png"}]
    fetch_icons(version=house.draft(manifest), actor=house.actor("reviewer"))
    assert server.connections == 0


@pytest.mark.parametrize("name", ["author", "auditor", "operator"])
def test_only_reviewers_may_let_the_server_fetch(house: House, server: Upstream, name: str) -> None:
    version = _version(house, f"{server.url}/i.png")
    address = reverse("admin:gateway_fetch_icons", args=[version.pk])
    assert browser(house, name).post(address).status_code == 403
    assert server.connections == 0


def test_a_foreign_version_and_a_mere_visit_fetch_nothing(
    house: House, neighbour: House, server: Upstream
) -> None:
    version = _version(house, f"{server.url}/i.png")
    address = reverse("admin:gateway_fetch_icons", args=[version.pk])
    assert browser(neighbour, "reviewer").post(address).status_code == 404
    assert browser(house, "reviewer").get(address).status_code == 405
    assert server.connections == 0
