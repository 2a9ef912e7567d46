"""The refund function of the tests' manifest; books what it really paid."""

from __future__ import annotations

from typing import Any

from gateway.functions import Call, function
from tests.gateway.order_functions import _book, _booked


@function("examples.payments:issue_refund")
def issue_refund(args: dict[str, Any], call: Call) -> Any:
    mark = f"refund {call.idempotency_key}"
    if not _booked(mark):
        _book(mark)
    return {"refund_id": f"rfd_{call.idempotency_key}"}
