"""The demo's function adapters: orders, a small knowledge graph, entity extraction, identity check.

Runs in the runner, a process without Django, database or keys; see gateway/functions.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from gateway.functions import Call, ToolError, function

ORDERS: Mapping[str, Mapping[str, Any]] = {
    "ord_1001": {
        "order_id": "ord_1001",
        "customer_id": "cus_77",
        "transaction_id": "txn_4200",
        "status": "delivered",
        "total_inr": 4200,
    },
    "ord_1002": {
        "order_id": "ord_1002",
        "customer_id": "cus_78",
        "transaction_id": "txn_4201",
        "status": "shipped",
        "total_inr": 1250,
    },
}
GRAPH_VERSION = "2026-11-01"
FACTS = (
    ("refund policy", "window_days", "30", "policy handbook"),
    ("refund policy", "needs_evidence", "order_lookup", "policy handbook"),
    ("ord_1001", "paid_by", "txn_4200", "orders"),
    ("cus_77", "placed", "ord_1001", "orders"),
)
ENTITIES = {
    "order_id": re.compile(r"\bord_[a-z0-9]+\b"),
    "transaction_id": re.compile(r"\btxn_[a-z0-9]+\b"),
    "amount_inr": re.compile(r"(?<=₹)\s?[0-9][0-9,]*"),
}


@function("orders.lookup")
def lookup_order(args: dict[str, Any], call: Call) -> Any:
    """One order by its id."""
    found = ORDERS.get(args["order_id"])
    if found is None:
        raise ToolError(
            "ORDER_NOT_FOUND",
            f"There is no order {args['order_id']}.",
            remediation="Check the order id; the demo knows ord_1001 and ord_1002.",
        )
    return dict(found)


@function("kg.query")
def query_graph(args: dict[str, Any], call: Call) -> Any:
    """Facts about a subject."""
    subject, predicate = args["subject"].lower(), args.get("predicate")
    facts = [
        {"subject": s, "predicate": p, "object": o, "source": source}
        for s, p, o, source in FACTS
        if s == subject and predicate in (None, p)
    ]
    return {"facts": facts[: args.get("limit", 50)], "graph_version": GRAPH_VERSION}


@function("extract.entities")
def extract_entities(args: dict[str, Any], call: Call) -> Any:
    """Ids and amounts in a text, by position; computes, and reaches nothing."""
    found = [
        {"kind": kind, "value": match[0].strip(), "start": match.start()}
        for kind, pattern in ENTITIES.items()
        for match in pattern.finditer(args["text"])
    ]
    return {"entities": sorted(found, key=lambda item: (item["start"], item["kind"]))}


@function("idv.verify")
def verify_identity(args: dict[str, Any], call: Call) -> Any:
    """Whether a customer owns an order (or is known at all)."""
    customer, order = args["customer_id"], ORDERS.get(args.get("order_id", ""))
    known = any(row["customer_id"] == customer for row in ORDERS.values())
    verified = known if "order_id" not in args else bool(order and order["customer_id"] == customer)
    seed = f"{customer}:{args.get('order_id', '')}:{verified}"
    ref = "idv_" + hashlib.sha256(seed.encode()).hexdigest()[:16]
    return {"verified": verified, "verification_ref": ref}
