"""A real runner for the functions of these tests, one for a whole module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

from contextos.identity.models import Tenant
from gateway.connectors.function.connector import runner_pool
from tests.factories import make_tenant
from tests.gateway.order_functions import LEDGER


@pytest.fixture
def acme(db: None) -> Tenant:
    """A tenant."""
    return make_tenant("tenant_acme")


@pytest.fixture
def globex(db: None) -> Tenant:
    """Another tenant."""
    return make_tenant("tenant_globex")


@pytest.fixture(scope="module")
def function_runner() -> Iterator[None]:
    runner_pool.cache_clear()
    with override_settings(
        CONTEXTOS_FUNCTION_MODULES=(
            "tests.gateway.order_functions",
            "tests.gateway.payment_functions",
        ),
        FUNCTION_RUNNERS=2,
    ):
        yield
        runner_pool().close()
    runner_pool.cache_clear()


@pytest.fixture
def ledger(function_runner: None) -> Iterator[list[str]]:
    """What really happened so far; a fresh book for every test."""
    LEDGER.unlink(missing_ok=True)
    yield _Ledger()
    LEDGER.unlink(missing_ok=True)


class _Ledger(list[str]):
    """Reads the book anew each time it is looked at."""

    def _read(self) -> list[str]:
        return LEDGER.read_text().splitlines() if LEDGER.exists() else []

    def __len__(self) -> int:
        return len(self._read())

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __contains__(self, line: object) -> bool:
        return line in self._read()

    def __eq__(self, other: object) -> bool:
        return self._read() == other
