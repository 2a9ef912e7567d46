"""The functions behind the tests' manifests, served by a real runner; they keep their own ledger.

The ledger is a file per test process, written by the runner (its child): what stands in it really
happened, whatever the gateway says.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from gateway.functions import Call, Changed, Costs, InputRequired, ToolError, Working, function


def ledger_of(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"contextos-test-orders-{pid}.ledger"


LEDGER = ledger_of(os.getpid())  # as the test sees it; the runner asks for its parent's


def _book(line: str) -> None:
    with ledger_of(os.getppid()).open("a") as book:
        book.write(line + "\n")


def _booked(line: str) -> bool:
    book = ledger_of(os.getppid())
    return book.exists() and line in book.read_text().splitlines()


@function("examples.orders:lookup")
def lookup(args: dict[str, Any], call: Call) -> Any:
    order_id = args["order_id"]
    _book(f"{call.tool_call_id} {order_id}")
    if order_id == "ord_0404":
        raise ToolError("ORDER_NOT_FOUND", "There is no such order.")
    if order_id == "ord_0777":  # a look-up that is none
        changes = [{"kind": "order.touched", "ref": order_id}]
        return Changed({"order_id": order_id, "status": "delivered"}, changes)
    if order_id == "ord_0666":
        return {"unexpected": True}
    return {"order_id": order_id, "status": "delivered"}


@function("examples.orders:lookup", version="2")
def look_up_anew(args: dict[str, Any], call: Call) -> Any:
    return {"order_id": args["order_id"], "status": "delivered, as version 2 says"}


@function("examples.notes:add")
def add_note(args: dict[str, Any], call: Call) -> Any:
    """Writes once per key, as an adapter that deduplicates; the text says how to misbehave."""
    text = args["text"]
    if text == "hang":
        time.sleep(30)
    if text.startswith("fail until ") and call.attempt < int(text.removeprefix("fail until ")):
        raise ToolError("TRY_AGAIN", "Not yet.", retryable=True)
    if text.startswith("always fails"):
        raise ToolError("TRY_AGAIN", "Never.", retryable=True)
    mark = f"note {call.idempotency_key}"
    if not _booked(mark):
        _book(mark)
    if text == "die after writing" and call.attempt == 1:
        os._exit(1)
    if text == "answer garbage":
        return {"surprise": 1}
    return Costs({"note_id": f"note_{call.idempotency_key}"}, cost_cents=3)


@function("examples.notes:add_blindly")
def add_blindly(args: dict[str, Any], call: Call) -> Any:
    """The same without deduplication: a second attempt would write a second time."""
    _book(f"blind {call.idempotency_key}")
    if args["text"] == "die after writing":
        os._exit(1)
    if args["text"] == "hang":
        time.sleep(30)
    return {"note_id": f"note_{call.idempotency_key}"}


def _report(args: dict[str, Any], call: Call) -> Any:
    """A poll: `step` counts up in the handle until the report is ready."""
    step, answer = int((call.task or {}).get("step", 0)) + 1, call.answer
    if args["kind"] == "asks" and answer is None:
        schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
        return InputRequired({"step": step}, "Which year?", {**schema, "required": ["year"]})
    if args["kind"] == "asks" and answer is not None and answer["action"] == "decline":
        raise ToolError("NO_YEAR", "Without a year there is no report.")
    if args["kind"] == "breaks":
        raise ToolError("REPORT_BROKEN", "The report can't be built.")
    if args["kind"] == "endless" or step < 2:
        return Working({"step": step}, poll_after_ms=20)
    year = (answer or {}).get("content", {}).get("year") if answer else None
    return {"report_id": "rep_1", "year": year}


def _cancelled(args: dict[str, Any], call: Call) -> Any:
    _book(f"cancelled {call.tool_call_id}")
    return None


@function("examples.reports:build", poll=_report, cancel=_cancelled)
def build_report(args: dict[str, Any], call: Call) -> Any:
    _book(f"begun {call.tool_call_id} {call.traceparent}")
    if args["kind"] == "at once":
        return {"report_id": "rep_0", "year": None}
    return Working({"step": 0}, poll_after_ms=20)
