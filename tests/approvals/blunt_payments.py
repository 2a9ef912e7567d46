"""A refund function that pays every time it is called: a second call would be a second line."""

from __future__ import annotations

from typing import Any

from gateway.functions import Call, function
from tests.gateway.order_functions import _book


@function("examples.payments:issue_refund")
def issue_refund(args: dict[str, Any], call: Call) -> Any:
    _book(f"refund {call.idempotency_key}")
    return {"refund_id": f"rfd_{call.idempotency_key}"}
