"""The demo's payments twin keeps its own ledger and pays back once per key."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from contextos.demo.payments import LEDGER_VARIABLE, issue_refund, lookup_transaction
from gateway.functions import Call, ToolError

CALL = Call("tool_1", "tenant_one", "payments.issue_refund", 1)


@pytest.fixture(autouse=True)
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv(LEDGER_VARIABLE, str(path))
    return path


def _args(**changes: Any) -> dict[str, Any]:
    return {
        "transaction_id": "txn_4200",
        "amount_inr": 4200,
        "idempotency_key": "ik_aaaaaaaaaaaaaaaa",
        **changes,
    }


def test_the_same_key_is_paid_once(ledger: Path) -> None:
    first, again = issue_refund(_args(), CALL), issue_refund(_args(), CALL)
    assert first == again
    assert sqlite3.connect(ledger).execute("SELECT count(*) FROM refund").fetchone() == (1,)
    assert lookup_transaction({"transaction_id": "txn_4200"}, CALL)["status"] == "refunded"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"amount_inr": 4201}, "ALREADY_REFUNDED"),
        ({"transaction_id": "txn_4201"}, "NOT_SETTLED"),
        ({"transaction_id": "txn_0"}, "TRANSACTION_NOT_FOUND"),
    ],
)
def test_what_can_not_be_paid_back_is_refused(change: dict[str, Any], code: str) -> None:
    with pytest.raises(ToolError) as refused:
        issue_refund(_args(**change), CALL)
    assert refused.value.code == code


def test_parts_are_paid_until_nothing_is_left() -> None:
    issue_refund(_args(amount_inr=4000), CALL)
    with pytest.raises(ToolError):
        issue_refund(_args(amount_inr=201, idempotency_key="ik_b"), CALL)
    assert issue_refund(_args(amount_inr=200, idempotency_key="ik_c"), CALL)["status"] == "accepted"
