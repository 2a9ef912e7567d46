"""The demo's support desk: notes that are written, and a report that takes its time.

Runs in the runner; it shows what a worker does: a write with a key, long work with a question.
"""

from __future__ import annotations

import hashlib
from typing import Any

from gateway.functions import Call, InputRequired, ToolError, Working, function

_YEAR = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "year": {
            "type": "integer",
            "minimum": 2020,
            "maximum": 2030,
            "title": "Year",
            "description": "The report covers one calendar year.",
        }
    },
    "required": ["year"],
}
_STEPS = 4


@function("notes.add")
def add_note(args: dict[str, Any], call: Call) -> Any:
    """Add a note; the id follows from the key, so that a repeat gives the same note."""
    seed = f"{call.tenant_id}:{call.idempotency_key}"
    return {
        "note_id": "note_" + hashlib.sha256(seed.encode()).hexdigest()[:16],
        "order_id": args["order_id"],
    }


def _poll(args: dict[str, Any], call: Call) -> Any:
    task = dict(call.task or {})
    if call.answer is not None and call.answer["action"] == "decline":
        raise ToolError("YEAR_DECLINED", "Without a year there is no report.")
    if call.answer is not None:
        task["year"] = call.answer["content"]["year"]
    if args.get("ask_year") and "year" not in task:
        return InputRequired(task, "Which year should the report cover?", _YEAR)
    task["step"] = int(task.get("step", 0)) + 1
    if task["step"] < _STEPS:
        return Working(task, poll_after_ms=500)
    year = task.get("year", 2026)
    return {"report_id": f"rep_{args['topic']}_{year}", "year": year, "orders": 2}


def _cancel(args: dict[str, Any], call: Call) -> Any:
    return None  # nothing runs on between two polls


@function("reports.build", poll=_poll, cancel=_cancel)
def build_report(args: dict[str, Any], call: Call) -> Any:
    """Begin a report."""
    return Working({"step": 0}, poll_after_ms=500)
