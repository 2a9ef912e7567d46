"""The orders function of the tests' manifest, served by a real runner; keeps its own ledger."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gateway.functions import Call, ToolError, function

LEDGER = Path(tempfile.gettempdir()) / "contextos-test-orders.ledger"


@function("examples.orders:lookup")
def lookup(args: dict[str, Any], call: Call) -> Any:
    order_id = args["order_id"]
    with LEDGER.open("a") as book:
        book.write(f"{call.tool_call_id} {order_id}\n")
    if order_id == "ord_0404":
        raise ToolError("ORDER_NOT_FOUND", "There is no such order.")
    if order_id == "ord_0666":
        return {"unexpected": True}
    return {"order_id": order_id, "status": "delivered"}
