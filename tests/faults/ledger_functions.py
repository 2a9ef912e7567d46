"""Functions with a ledger of their own: what stands in it really happened, whatever anybody says.

The ledger is an SQLite file without a single uniqueness, so that a doubled effect shows. `text`
says how a function behaves: `dawdle` writes its row and then sleeps through its first attempt,
`pause N` sleeps N seconds after writing; `die before` and `die after` kill who called the
function, in the first attempt, before and after the row is written; `break` ends the function's own
process after it, as a connection that is reset; anything else answers at once.

Each row says whether the decision stood in the database when it was written, and how many people
had said yes to it by then: no clock is asked.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from functools import cache
from pathlib import Path
from typing import Any

import psycopg

from gateway.functions import Call, Costs, function
from tests.faults.ledger_file import ENTRY, open_ledger

LEDGER_VARIABLE, DATABASE_VARIABLE = "FAULTS_LEDGER", "FAULTS_DATABASE"
COST_CENTS = 3


@cache
def _ledger() -> sqlite3.Connection:
    return open_ledger(Path(os.environ[LEDGER_VARIABLE]))


def _effect(args: dict[str, Any], call: Call, *, is_write: bool = True) -> None:
    """Do it, and behave as told around it."""
    _die_at("die before", args, call)
    _book(call, is_write=is_write)
    _die_at("die after", args, call)
    _behave(args, call)


def _die_at(point: str, args: dict[str, Any], call: Call) -> None:
    """`kill -9` of the web or worker process that waits for the answer."""
    if args["text"] == point and call.attempt == 1:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)  # our own end follows from that of our parent


def _book(call: Call, *, is_write: bool) -> None:
    row = (call.capability_id, call.idempotency_key, call.tool_call_id, call.attempt, is_write)
    _ledger().execute(ENTRY, (*row, time.time(), *_on_record(call)))


_ON_RECORD = (
    "SELECT call.attempts >= %s AND EXISTS (SELECT 1 FROM audit_decisionrow row "
    "WHERE row.decision_id = call.decision_id AND row.status = 'APPROVED'), "
    "(SELECT count(DISTINCT vote.approver_id) "
    "FROM approvals_vote vote JOIN approvals_approvalrequest request "
    "ON request.approval_id = vote.request_id WHERE request.subject_id = call.tool_call_id "
    "AND request.state = 'consumed' AND vote.verdict = 'approve' AND vote.withdrawn_at IS NULL "
    "AND vote.digest = request.digest) FROM gateway_toolcall call WHERE call.tool_call_id = %s"
)


def _on_record(call: Call) -> tuple[bool | None, int | None]:
    """Whether the approving row and this attempt are committed by now, and how many votes are on
    what the request was used up for; None where nobody can be asked."""
    url = os.environ.get(DATABASE_VARIABLE, "")
    if not url.startswith("postgresql"):
        return None, None
    asked = [call.attempt, call.tool_call_id]
    for _ in range(2):  # the connection may be one that an earlier fault has cut
        try:
            found = _database(url).execute(_ON_RECORD.encode(), asked).fetchone()
        except psycopg.Error:
            _database.cache_clear()
        else:
            return (bool(found[0]), found[1]) if found else (False, 0)
    return None, None


@cache
def _database(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, autocommit=True, connect_timeout=2)


def _behave(args: dict[str, Any], call: Call) -> None:
    text = str(args["text"])
    if text == "dawdle" and call.attempt == 1:
        time.sleep(60)
    if text == "break" and call.attempt == 1:
        os._exit(1)
    if text.startswith("pause "):
        time.sleep(float(text.removeprefix("pause ")))


@function("faults.ledger:post_entry")
def post_entry(args: dict[str, Any], call: Call) -> Any:
    """A write of an adapter that knows its keys: a repeat changes nothing."""
    _die_at("die before", args, call)
    ledger = _ledger()
    ledger.execute("BEGIN IMMEDIATE")
    known = "SELECT 1 FROM effects WHERE capability = ? AND key = ?"
    if ledger.execute(known, (call.capability_id, call.idempotency_key)).fetchone() is None:
        _book(call, is_write=True)
    ledger.execute("COMMIT")
    _die_at("die after", args, call)
    _behave(args, call)
    return _entered(call)


@function("faults.ledger:post_entry_blindly")
def post_entry_blindly(args: dict[str, Any], call: Call) -> Any:
    """The same without a look at the key: each attempt would be one more effect."""
    _effect(args, call)
    return _entered(call)


@function("faults.ledger:wipe_entry")
def wipe_entry(args: dict[str, Any], call: Call) -> Any:
    """What can't be undone, as blind as the other."""
    _effect(args, call)
    return _entered(call)


@function("faults.ledger:read_entry")
def read_entry(args: dict[str, Any], call: Call) -> Any:
    """A quick read, made by the web process itself."""
    _effect(args, call, is_write=False)
    return {"entry_id": args["text"]}


@function("faults.ledger:build_report")
def build_report(args: dict[str, Any], call: Call) -> Any:
    """A read that goes to a worker."""
    _effect(args, call, is_write=False)
    return {"entry_id": args["text"]}


def _entered(call: Call) -> Costs:
    return Costs({"entry_id": f"entry_{call.idempotency_key}"}, cost_cents=COST_CENTS)
