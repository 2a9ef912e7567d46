"""Receivers stand on loopback, which only a developer's machine may call."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _on_a_developers_machine(settings: Any) -> None:
    settings.CONTEXTOS_ENV = "development"
    settings.EGRESS_PROXY = None
