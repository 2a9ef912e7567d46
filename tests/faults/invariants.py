"""What has to hold after every fault: nothing lost, nothing doubled, nothing unrecorded.

Reads the database and the adapter's own ledger, and believes neither the product nor the test.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.faults.ledger_manifests import QUORUM, WIPE
from tests.faults.log_invariants import log_violations
from tests.faults.store import Effect, Ledger, Store

TERMINAL_ROWS = {"EXECUTED", "FAILED", "REJECTED", "EXPIRED", "CANCELLED"}
TERMINAL_STATES = {"ok", "failed", "rejected", "cancelled"}
UNKNOWN = "unknown_outcome"


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call as the table has it."""

    tool_call_id: str
    decision_id: str
    run_id: str
    state: str
    is_write: bool
    records: int
    reserved_cents: int


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One row of a decision: its head, and its text read again."""

    seq: int
    status: str
    leaf_hash: bytes
    text: str

    @property
    def document(self) -> dict[str, Any]:
        read: dict[str, Any] = json.JSONDecoder().decode(self.text)
        return read

    @property
    def moment(self) -> float:
        return datetime.fromisoformat(self.document["created_at"]).astimezone(UTC).timestamp()


@dataclass(slots=True)
class Findings:
    """What was looked at, and every sentence that does not hold."""

    calls: int = 0
    effects: int = 0
    states: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.calls} calls {dict(self.states)}, {self.effects} effects"


def check_invariants(
    store: Store, ledger: Ledger, *, answered: Mapping[str, str] | None = None
) -> Findings:
    """Raise AssertionError with every violation; `answered` is what callers were told: key to
    tool_call_id. Call it when nothing is under way any more."""
    calls, decisions, effects = _calls(store), _decisions(store), ledger.effects()
    found = Findings(len(calls), len(effects), Counter(call.state for call in calls.values()))
    found.violations += _ended(calls)
    found.violations += _doubled(effects)
    found.violations += _unrecorded(effects, calls, decisions)
    found.violations += _unvoted(store, effects)
    found.violations += _state_against_effects(calls, effects)
    for call in calls.values():
        found.violations += _decision_of(call, decisions.get(call.decision_id, []))
    found.violations += _budgets(store, calls, decisions)
    found.violations += _keys(store, calls, answered or {})
    found.violations += log_violations(store)
    assert not found.violations, f"{found}\n" + "\n".join(found.violations[:40])
    return found


def _calls(store: Store) -> dict[str, CallRow]:
    sql = (
        "SELECT tool_call_id, decision_id, run_id, state, is_write, records, reserved_cents "
        "FROM gateway_toolcall"
    )
    return {row[0]: CallRow(*row) for row in store.rows(sql)}


def _decisions(store: Store) -> dict[str, list[RecordRow]]:
    sql = (
        "SELECT head.decision_id, head.seq, head.status, head.leaf_hash, body.text "
        "FROM audit_decisionrow head "
        "LEFT JOIN audit_decisionbody body ON body.record_id = head.record_id "
        "ORDER BY head.decision_id, head.seq"
    )
    found: dict[str, list[RecordRow]] = defaultdict(list)
    for decision_id, seq, status, leaf, text in store.rows(sql):
        found[decision_id].append(RecordRow(seq, status, bytes(leaf), text or ""))
    return found


def _ended(calls: Mapping[str, CallRow]) -> Iterator[str]:
    """Every accepted call is terminal, or its unknown outcome is named."""
    for call in calls.values():
        if call.state not in {*TERMINAL_STATES, UNKNOWN}:
            yield f"{call.tool_call_id} is still {call.state}"


def _doubled(effects: list[Effect]) -> Iterator[str]:
    """At most one effect per key, whether or not the adapter looks at keys."""
    times = Counter((e.capability, e.key) for e in effects if e.is_write)
    for (capability, key), count in times.items():
        if count > 1:
            yield f"{capability} {key} happened {count} times"


def _unrecorded(
    effects: list[Effect],
    calls: Mapping[str, CallRow],
    decisions: Mapping[str, list[RecordRow]],
) -> Iterator[str]:
    """No effect without an APPROVED row that was there before."""
    for effect in effects:
        call = calls.get(effect.tool_call_id)
        rows = decisions.get(call.decision_id, []) if call else []
        approved = [row.moment for row in rows if row.status == "APPROVED"]
        early = not effect.recorded if effect.recorded is not None else _is_early(effect, approved)
        if not approved or early:
            yield f"{effect.tool_call_id} happened without an earlier record"


def _is_early(effect: Effect, approved: list[float]) -> bool:
    """By the clocks, where the database could not be asked."""
    return min(approved, default=effect.at) > effect.at


def _unvoted(store: Store, effects: list[Effect]) -> Iterator[str]:
    """Nothing destructive without enough people, all of whom saw exactly what was done."""
    approvers = defaultdict(set)
    for tool_call_id, digest, shown, approver in store.rows(_VOTES):
        if digest == shown:
            approvers[tool_call_id].add(approver)
    for effect in effects:
        if effect.capability == WIPE and len(approvers[effect.tool_call_id]) < QUORUM:
            yield f"{effect.tool_call_id} happened with {len(approvers[effect.tool_call_id])} votes"


_VOTES = (
    "SELECT request.subject_id, request.digest, vote.digest, vote.approver_id "
    "FROM approvals_vote vote "
    "JOIN approvals_approvalrequest request ON request.approval_id = vote.request_id "
    "WHERE vote.verdict = 'approve' AND vote.withdrawn_at IS NULL AND request.state = 'consumed'"
)


def _state_against_effects(calls: Mapping[str, CallRow], effects: list[Effect]) -> Iterator[str]:
    """A write that is said to be done happened; one that is said to have failed did not."""
    happened = {effect.tool_call_id for effect in effects}
    for call in calls.values():
        if not call.is_write or call.state == UNKNOWN:
            continue
        if (call.state == "ok") != (call.tool_call_id in happened):
            yield f"{call.tool_call_id} is {call.state}, the ledger says otherwise"


def _decision_of(call: CallRow, rows: list[RecordRow]) -> Iterator[str]:
    """Rows 1..n, one terminal row exactly when the call is terminal, every byte as it was."""
    if [row.seq for row in rows] != list(range(1, call.records + 1)):
        yield f"{call.decision_id} has rows {[row.seq for row in rows]}, not 1..{call.records}"
    terminal = [row.status for row in rows if row.status in TERMINAL_ROWS]
    if len(terminal) != int(call.state in TERMINAL_STATES):
        yield f"{call.tool_call_id} is {call.state} with terminal rows {terminal}"
    if call.state == UNKNOWN and rows and rows[-1].status != "UNKNOWN":
        yield f"{call.tool_call_id} is unknown, its last row says {rows[-1].status}"
    for row in rows:
        if hashlib.sha256(b"\0" + row.text.encode()).digest() != row.leaf_hash:
            yield f"{call.decision_id}#{row.seq} has another text than its leaf"


def _budgets(
    store: Store, calls: Mapping[str, CallRow], decisions: Mapping[str, list[RecordRow]]
) -> Iterator[str]:
    """Reserved is what unknown outcomes hold; spent is what the terminal rows say."""
    used, held, spent = Counter[str](), Counter[str](), Counter[str]()
    for call in calls.values():
        used[call.run_id] += 1
        if call.state == UNKNOWN:
            held[call.run_id] += call.reserved_cents
        rows = [row for row in decisions.get(call.decision_id, []) if row.status in TERMINAL_ROWS]
        spent[call.run_id] += sum(row.document["cost_cents"] or 0 for row in rows)
    sql = "SELECT run_id, used_calls, reserved_cents, spent_cents FROM gateway_run"
    for run_id, *booked in store.rows(sql):
        owed = [used[run_id], held[run_id], spent[run_id]]
        if booked != owed:
            yield f"{run_id} has used/reserved/spent {booked}, its calls say {owed}"


def _keys(store: Store, calls: Mapping[str, CallRow], answered: Mapping[str, str]) -> Iterator[str]:
    """A key names one call that is there, and callers were told of no other."""
    named = [row[0] for row in store.rows("SELECT tool_call_id FROM gateway_idempotencykey")]
    for tool_call_id, count in Counter(named).items():
        if tool_call_id not in calls or count > 1:
            yield f"{count} keys name {tool_call_id}"
    for key, tool_call_id in answered.items():
        if tool_call_id not in calls:
            yield f"key {key} was answered with {tool_call_id}, which is not there"
