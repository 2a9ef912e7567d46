"""The running product, a browser, and people who sign in once and keep their session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.demo_process import Demo, running_demo
from tests.e2e.refunds import Refunds
from tests.e2e.visitor import WIDE, Codes, Visitor

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Arrive = Callable[[], Visitor]
ArriveAs = Callable[[str], Visitor]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The product as `make run` starts it."""
    with running_demo(tmp_path_factory.mktemp("demo")) as started:
        yield started


@pytest.fixture(scope="session")
def refunds(demo: Demo) -> Refunds:
    """The demo's agent asking for money."""
    return Refunds(demo)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium; without one there is nothing to drive."""
    path = os.environ.get("CONTEXTOS_CHROMIUM") or shutil.which("chromium")
    if not path or not Path(path).exists():
        pytest.skip("no chromium on this machine (set CONTEXTOS_CHROMIUM)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def codes() -> Codes:
    """Everybody's authenticator app."""
    return Codes()


@pytest.fixture(scope="session")
def sessions() -> dict[str, Any]:
    """Cookies of people who signed in before."""
    return {}


@pytest.fixture
def arrivals(browser: Browser, demo: Demo) -> Iterator[Callable[[Any], Visitor]]:
    """Opens browsers and checks at the end that nobody saw a fault."""
    opened: list[tuple[Any, Visitor]] = []

    def arrive(state: Any = None) -> Visitor:
        context = browser.new_context(viewport=WIDE, storage_state=state)  # type: ignore[arg-type]
        context.set_default_timeout(30_000)
        # How pages look does not depend on the database: the pass on SQLite judges it for both.
        looks = demo.database_url is None
        visitor = Visitor(context.new_page(), demo.url, judges_looks=looks)
        opened.append((context, visitor))
        return visitor

    yield arrive
    faults = [fault for _, visitor in opened for fault in visitor.faults]
    for context, _ in opened:
        context.close()
    assert faults == []


@pytest.fixture
def stranger(arrivals: Callable[[Any], Visitor]) -> Visitor:
    """A browser that nobody signed in with."""
    return arrivals(None)


@pytest.fixture
def sign_in(
    arrivals: Callable[[Any], Visitor], demo: Demo, codes: Codes, sessions: dict[str, Any]
) -> Iterator[ArriveAs]:
    """A browser of a demo person, at the front page."""
    present: dict[str, Visitor] = {}

    def arrive(name: str) -> Visitor:
        visitor = present[name] = arrivals(sessions.get(name))
        visitor.open("/admin/")
        if name not in sessions:
            visitor.give_password(name, demo.users[name]["password"])
            visitor.give_code(codes.next(demo.users[name]["otp_secret"]))
        assert visitor.page.url == f"{demo.url}/admin/"
        return visitor

    yield arrive
    for name, visitor in present.items():  # the product renews session keys now and then
        sessions[name] = visitor.page.context.storage_state()
