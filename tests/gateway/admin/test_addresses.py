"""Addresses that no database can look for find nothing, and break nothing."""

from __future__ import annotations

import pytest

from tests.gateway.admin.visits import page, visitor
from tests.gateway.world import GatewayWorld


@pytest.mark.parametrize(
    ("place", "status"),
    [
        (f"{page('refusals')}?after=%00", 200),
        (f"{page('refusals')}?capability=%00", 200),
        (f"{page('refusals')}?decision=%00", 200),
        (f"{page('dead_letters')}?after=%00", 200),
        (f"{page('reconcile')}?after=%00", 200),
        ("/admin/gateway/refusals/%00/", 404),
        ("/admin/gateway/replays/%00/", 404),
        ("/admin/gateway/replay/%00/", 404),
        ("/admin/gateway/reconcile/%00/", 404),
        ("/admin/records/%00/", 404),
        ("/admin/gateway/toolcall/%00/cancel/", 404),
        ("/admin/gateway/toolcall/%00/change/", 404),
        ("/admin/gateway/run/%00/change/", 404),
    ],
)
def test_a_name_that_no_database_can_hold_is_found_nowhere(
    world: GatewayWorld, place: str, status: int
) -> None:
    browser = visitor(world, "operator")
    browser.raise_request_exception = False
    assert browser.get(place).status_code == status
