"""Two installations that really run: Celery on PostgreSQL and Redis, and the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.plant import SEALERS, Plant
from tests.faults.results import Results
from tests.faults.services import Broker, Database

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here belongs to `make faults`, not to `make test`.

    The short form runs in two processes, each with a plant of its own: most of it is waiting.
    """
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.faults)


@pytest.fixture(scope="session")
def results() -> Iterator[Results]:
    shown = Results()
    yield shown
    shown.write()


@pytest.fixture(scope="session")
def database() -> Iterator[Database]:
    own = Database()
    try:
        own.create()
        yield own
    finally:
        own.remove()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    own = Broker(tmp_path_factory.mktemp("redis"))
    own.start()
    yield own
    own.kill()


@pytest.fixture(scope="session")
def plant(
    database: Database, broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Plant]:
    """Web, a worker with three children, beat, and two sealers."""
    built = Plant(tmp_path_factory.mktemp("plant"), database.url, broker.url)
    built.settle()
    try:
        built.start_web()
        built.start_beat()
        built.start_worker()
        for name in SEALERS:
            built.start_sealer(name)
        yield built
    finally:
        built.stop()


@pytest.fixture(scope="module")
def embedded_plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """Web and the embedded worker over one SQLite file."""
    folder = tmp_path_factory.mktemp("embedded")
    built = Plant(folder, f"sqlite:///{folder / 'contextos.sqlite3'}")
    built.settle()
    try:
        built.start_web()
        built.start_embedded()
        yield built
    finally:
        built.stop()
