"""Fixtures every test may use; the database is that of DATABASE_URL, else SQLite."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from tests.depth import register_profiles
from tests.putting_back import django_db_setup  # noqa: F401 - a fixture
from tests.spent import Accounts

register_profiles()
gc.disable()  # collecting tests makes nothing but what stays

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Accounts())


def pytest_collection_finish() -> None:
    """Ten thousand tests and what they import are there to stay: nobody need look through them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # a test's rows are few and soon gone
    gc.enable()


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Public test corpora that nobody here wrote; absent on some machines."""
    folder = Path(os.environ.get("CONTEXTOS_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not folder.is_dir():
        pytest.skip("the public corpora are not on this machine (set CONTEXTOS_CORPORA)")
    return folder
