"""Which permissions speak about a capability, and for whom; and how a capability is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.capability_names import CapabilityName, CapabilityNames
from registry.packs import RunScope, match_permissions, read_permission

REFUND = CapabilityName.of("payments.issue_refund", "adp_payments_mcp")
LOOKUP = CapabilityName.of("payments.lookup", "adp_payments_mcp")
ORDERS = CapabilityName.of("orders.lookup", "adp_orders")
NAMES = CapabilityNames([REFUND, LOOKUP, ORDERS])
GRANT = {"adapter_id": "adp_payments_mcp", "capability": "issue_refund", "allow": True}


def _match(*raw: dict[str, Any], scope: RunScope | None = None) -> Any:
    return match_permissions(
        [read_permission(item) for item in raw],
        capability=REFUND,
        names=NAMES,
        scope=scope or RunScope("agent", "support.refund", "production"),
    )


@pytest.mark.proves("B10")
@pytest.mark.parametrize(
    ("changes", "permitted"),
    [
        ({}, True),
        ({"adapter_id": "adp_payments"}, True),
        ({"adapter_id": "adp"}, False),
        ({"adapter_id": ""}, False),
        ({"adapter_id": None}, False),
        ({"adapter_id": None, "capability": "payments.issue_refund"}, True),
        ({"adapter_id": "adp_orders", "capability": "payments.issue_refund"}, False),
        ({"capability": "lookup"}, False),
        ({"capability": None}, False),
        ({"capability": "*"}, False),
        ({"adapter_id": "adp_*"}, False),
        ({"allow": False}, False),
        ({"allow": None}, False),
        ({"allow": 1}, False),
        ({"roles": ["agent"]}, True),
        ({"roles": ["Agent"]}, False),
        ({"roles": []}, True),
        ({"roles": "agent"}, False),
        ({"roles": [None]}, False),
        ({"intents": ["support.refund"], "environments": ["production"]}, True),
        ({"intents": ["support.refund"], "environments": ["staging"]}, False),
    ],
)
def test_a_permission_matches_exactly(changes: dict[str, Any], permitted: bool) -> None:
    assert _match({**GRANT, **changes}).is_permitted is permitted


def test_deny_beats_allow_in_either_order() -> None:
    denial = {**GRANT, "allow": False}
    assert not _match(GRANT, denial).is_permitted
    assert not _match(denial, GRANT).is_permitted
    assert _match({**denial, "roles": ["other"]}, GRANT).is_permitted


@pytest.mark.parametrize("member", ["roles", "intents", "environments"])
def test_what_is_not_known_about_the_run_matches_no_permission_that_names_it(member: str) -> None:
    assert not _match({**GRANT, member: ["x", ""]}, scope=RunScope()).is_permitted
    assert _match(GRANT, scope=RunScope()).is_permitted


@given(st.text(max_size=20), st.text(max_size=20))
def test_only_the_names_themselves_are_permitted(adapter: str, capability: str) -> None:
    permitted = _match({**GRANT, "adapter_id": adapter, "capability": capability}).is_permitted
    own = adapter in ("adp_payments_mcp", "adp_payments") and capability == "issue_refund"
    full = adapter in ("", "adp_payments_mcp", "adp_payments")
    assert permitted is (own or (full and capability == "payments.issue_refund"))


@pytest.mark.parametrize(
    ("spelling", "found"),
    [
        ("payments.issue_refund", REFUND),
        ("adp_payments_mcp.issue_refund", REFUND),
        ("adp_payments.issue_refund", REFUND),
        ("adp_orders.lookup", ORDERS),
        ("adp_payments.lookup", LOOKUP),
        ("adp_payments.void", None),
        ("adp_paymen.issue_refund", None),
        ("adp_payments_.issue_refund", None),
        ("adp.lookup", None),
        ("ADP_payments.issue_refund", None),
        ("issue_refund", None),
        (".issue_refund", None),
        ("adp_payments.", None),
        ("", None),
        ("*", None),
        ("adp_payments.*", None),
    ],
)
def test_both_spellings_of_a_capability_are_resolved(
    spelling: str, found: CapabilityName | None
) -> None:
    assert NAMES.resolve(spelling) == found


def test_the_exact_adapter_goes_first_and_two_that_begin_alike_are_nobody() -> None:
    api = CapabilityName.of("paying.issue_refund", "adp_payments_api")
    assert CapabilityNames([REFUND, api]).resolve("adp_payments.issue_refund") is None
    exact = CapabilityName.of("pay.issue_refund", "adp_payments")
    assert CapabilityNames([REFUND, api, exact]).resolve("adp_payments.issue_refund") == exact
    retired = CapabilityName.of("paying.issue_refund", "adp_payments_api", active=False)
    assert CapabilityNames([REFUND, retired]).resolve("adp_payments.issue_refund") == REFUND


def test_an_exact_adapter_without_the_operation_is_not_replaced_by_another() -> None:
    exact = CapabilityName.of("pay.lookup", "adp_payments")
    assert CapabilityNames([REFUND, exact]).resolve("adp_payments.issue_refund") is None
