"""Fixtures every test may use; the database is that of DATABASE_URL, else SQLite."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.append_only_flush import django_db_modify_db_settings  # noqa: F401 - a fixture

settings.register_profile(
    "suite", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Public test corpora that nobody here wrote; absent on some machines."""
    folder = Path(os.environ.get("CONTEXTOS_CORPORA", ROOT.parent / "shared" / "corpora"))
    if not folder.is_dir():
        pytest.skip("the public corpora are not on this machine (set CONTEXTOS_CORPORA)")
    return folder
