"""One desk for every test."""

from __future__ import annotations

import pytest

from tests.approvals.admin.desk import Desk
from tests.recorded_worlds import ready


@pytest.fixture
def desk(db: None, settings: object) -> Desk:
    """Requests here have no call behind them, so nobody is woken."""
    settings.CONTEXTOS_APPROVAL_WAKER = "tests.approvals.admin.conftest.nobody"  # type: ignore[attr-defined]
    return ready(Desk)


def nobody(approval_id: str) -> None:
    """Stands where the gateway waits."""
