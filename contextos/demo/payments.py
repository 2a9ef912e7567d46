"""The function twin of the demo's payments server: settled transactions and a ledger of refunds.

Runs in the runner. The ledger is a file of its own, so that anybody can count what really
happened; a repeat with the same key finds the first refund instead of making a second.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from gateway.functions import Call, ToolError, function

TRANSACTIONS: Mapping[str, Mapping[str, Any]] = {
    "txn_4200": {"status": "settled", "amount_inr": 4200, "settlement_ref": "stl_88101"},
    "txn_4201": {"status": "authorised", "amount_inr": 1250},
    "txn_4202": {"status": "settled", "amount_inr": 18500, "settlement_ref": "stl_88102"},
    "txn_4203": {"status": "settled", "amount_inr": 49999, "settlement_ref": "stl_88103"},
}
LEDGER_VARIABLE = "CONTEXTOS_DEMO_LEDGER"
_TABLE = """
CREATE TABLE IF NOT EXISTS refund (
    idempotency_key TEXT PRIMARY KEY,
    refund_id TEXT NOT NULL UNIQUE,
    transaction_id TEXT NOT NULL,
    amount_inr REAL NOT NULL,
    tool_call_id TEXT NOT NULL
)"""


def ledger_path() -> Path:
    """Where the refunds stand."""
    given = os.environ.get(LEDGER_VARIABLE)
    return Path(given) if given else Path(tempfile.gettempdir()) / "contextos-demo-ledger.sqlite3"


@function("payments_lookup_transaction")
def lookup_transaction(args: dict[str, Any], call: Call) -> Any:
    """One transaction, and whether it was paid back."""
    found = _transaction(args["transaction_id"])
    with closing(_ledger()) as ledger:
        paid_back = _paid_back(ledger, args["transaction_id"])
    done = bool(paid_back) and paid_back >= found["amount_inr"]
    return {"transaction_id": args["transaction_id"], **found} | (
        {"status": "refunded"} if done else {}
    )


@function("payments_issue_refund")
def issue_refund(args: dict[str, Any], call: Call) -> Any:
    """Pay back once per key."""
    found = _transaction(args["transaction_id"])
    if found["status"] != "settled":
        raise ToolError("NOT_SETTLED", "Only a settled transaction can be paid back.")
    with closing(_ledger()) as ledger:
        ledger.execute("BEGIN IMMEDIATE")
        refund_id = _refund(ledger, args, call, found["amount_inr"])
        ledger.execute("COMMIT")
    return {
        "refund_id": refund_id,
        "status": "accepted",
        "transaction_id": args["transaction_id"],
        "reversal_token": f"rev_{refund_id.removeprefix('rfd_')}",
        "evidence_refs": [],
    }


def _refund(ledger: sqlite3.Connection, args: dict[str, Any], call: Call, settled: float) -> str:
    key = args["idempotency_key"]
    known = ledger.execute("SELECT refund_id FROM refund WHERE idempotency_key = ?", [key])
    row = known.fetchone()
    if row is not None:
        return str(row[0])
    if _paid_back(ledger, args["transaction_id"]) + args["amount_inr"] > settled:
        raise ToolError("ALREADY_REFUNDED", "That is more than is left of the transaction.")
    (count,) = ledger.execute("SELECT count(*) FROM refund").fetchone()
    refund_id = f"rfd_{count + 1:06d}"
    ledger.execute(
        "INSERT INTO refund VALUES (?, ?, ?, ?, ?)",
        [key, refund_id, args["transaction_id"], args["amount_inr"], call.tool_call_id],
    )
    return refund_id


def _paid_back(ledger: sqlite3.Connection, transaction_id: str) -> float:
    total = "SELECT coalesce(sum(amount_inr), 0) FROM refund WHERE transaction_id = ?"
    return float(ledger.execute(total, [transaction_id]).fetchone()[0])


def _transaction(transaction_id: str) -> Mapping[str, Any]:
    found = TRANSACTIONS.get(transaction_id)
    if found is None:
        raise ToolError("TRANSACTION_NOT_FOUND", f"There is no transaction {transaction_id}.")
    return found


def _ledger() -> sqlite3.Connection:
    ledger = sqlite3.connect(ledger_path(), timeout=10, isolation_level=None)
    ledger.execute(_TABLE)
    return ledger
