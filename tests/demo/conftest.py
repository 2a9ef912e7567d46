"""One running demo for all who only look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.demo.running import Demo, start_demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    running = start_demo(tmp_path_factory.mktemp("demo") / "data")
    yield running
    running.stop()
