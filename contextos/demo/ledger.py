"""The demo's payments: settled transactions, and a ledger of refunds in a file of its own.

Anybody can count there what really happened; a repeat with the same key finds the first refund
instead of making a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

TRANSACTIONS: Mapping[str, Mapping[str, Any]] = {
    "txn_4200": {"status": "settled", "amount_inr": 4200, "settlement_ref": "stl_88101"},
    "txn_4201": {"status": "authorised", "amount_inr": 1250},
    "txn_4202": {"status": "settled", "amount_inr": 18500, "settlement_ref": "stl_88102"},
    "txn_4203": {"status": "settled", "amount_inr": 49999, "settlement_ref": "stl_88103"},
}
_TABLE = """
CREATE TABLE IF NOT EXISTS refund (
    idempotency_key TEXT PRIMARY KEY,
    refund_id TEXT NOT NULL UNIQUE,
    transaction_id TEXT NOT NULL,
    amount_inr REAL NOT NULL,
    tool_call_id TEXT NOT NULL
)"""


class PaymentRefused(Exception):  # noqa: N818  named for what happened
    """The ledger says no, with a code that the manifest declares."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Ledger:
    """Refunds, once per key."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lookup(self, transaction_id: str) -> dict[str, Any]:
        """One transaction, and whether it was paid back."""
        found = _transaction(transaction_id)
        with closing(self._open()) as ledger:
            paid_back = _paid_back(ledger, transaction_id)
        done = bool(paid_back) and paid_back >= found["amount_inr"]
        return {"transaction_id": transaction_id, **found} | (
            {"status": "refunded"} if done else {}
        )

    def refund(self, args: Mapping[str, Any], *, tool_call_id: str) -> dict[str, Any]:
        """Pay back once per key."""
        found = _transaction(args["transaction_id"])
        if found["status"] != "settled":
            raise PaymentRefused("NOT_SETTLED", "Only a settled transaction can be paid back.")
        with closing(self._open()) as ledger:
            ledger.execute("BEGIN IMMEDIATE")
            refund_id = _refund(ledger, args, tool_call_id, found["amount_inr"])
            ledger.execute("COMMIT")
        return {
            "refund_id": refund_id,
            "status": "accepted",
            "transaction_id": args["transaction_id"],
            "reversal_token": f"rev_{refund_id.removeprefix('rfd_')}",
            "evidence_refs": [],
        }

    def _open(self) -> sqlite3.Connection:
        ledger = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        ledger.execute(_TABLE)
        return ledger


def _refund(
    ledger: sqlite3.Connection, args: Mapping[str, Any], tool_call_id: str, settled: float
) -> str:
    key = args["idempotency_key"]
    known = "SELECT refund_id, transaction_id, amount_inr FROM refund WHERE idempotency_key = ?"
    row = ledger.execute(known, [key]).fetchone()
    if row is not None:
        if row[1:] != (args["transaction_id"], args["amount_inr"]):
            raise PaymentRefused("KEY_REUSED", "This key has paid something else back.")
        return str(row[0])
    if _paid_back(ledger, args["transaction_id"]) + args["amount_inr"] > settled:
        raise PaymentRefused("ALREADY_REFUNDED", "That is more than is left of the transaction.")
    (count,) = ledger.execute("SELECT count(*) FROM refund").fetchone()
    refund_id = f"rfd_{count + 1:06d}"
    ledger.execute(
        "INSERT INTO refund VALUES (?, ?, ?, ?, ?)",
        [key, refund_id, args["transaction_id"], args["amount_inr"], tool_call_id],
    )
    return refund_id


def _paid_back(ledger: sqlite3.Connection, transaction_id: str) -> float:
    total = "SELECT coalesce(sum(amount_inr), 0) FROM refund WHERE transaction_id = ?"
    return float(ledger.execute(total, [transaction_id]).fetchone()[0])


def _transaction(transaction_id: str) -> Mapping[str, Any]:
    found = TRANSACTIONS.get(transaction_id)
    if found is None:
        raise PaymentRefused("TRANSACTION_NOT_FOUND", f"There is no transaction {transaction_id}.")
    return found
