"""What has to hold after every fault: nothing lost, nothing doubled, nothing unrecorded.

Reads the database, the adapter's own ledger and the log, and believes neither the product nor the
test: not a line of the product's is loaded here (test_the_check.py).
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

# Each terminal state with the rows that may end its decision.
ENDS = {
    "ok": {"EXECUTED"},
    "failed": {"FAILED"},
    "rejected": {"REJECTED", "EXPIRED"},
    "cancelled": {"CANCELLED"},
}
TERMINAL_ROWS = {status for statuses in ENDS.values() for status in statuses}
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
    tenant_id: str
    agent_id: str
    user_id: str
    capability_id: str

    def filed_under(self, key: str) -> str:
        """Where a key of this call's caller is filed, hashed here a second time."""
        scope = [self.tenant_id, self.agent_id, self.user_id, self.capability_id, key]
        text = json.dumps(scope, separators=(",", ":"), ensure_ascii=False)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One row of a decision: its head, and its text read again."""

    seq: int
    status: str
    leaf_hash: bytes
    text: str
    document: dict[str, Any]

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
    store: Store,
    ledger: Ledger,
    *,
    answered: Mapping[str, str] | None = None,
    told: Mapping[str, str] | None = None,
) -> Findings:
    """Raise AssertionError with every violation. `answered` is what callers were told, key to
    tool_call_id, and `told` which calls were said to have ended, and how. Call it when nothing is
    under way any more."""
    calls, decisions, effects = _calls(store), _decisions(store), ledger.effects()
    found = Findings(len(calls), len(effects), Counter(call.state for call in calls.values()))
    found.violations += _ended(calls)
    found.violations += _doubled(effects)
    found.violations += _unrecorded(effects, calls, decisions)
    found.violations += _unvoted(store, effects, calls, decisions)
    found.violations += _state_against_effects(calls, effects)
    for call in calls.values():
        found.violations += _decision_of(call, decisions.get(call.decision_id, []))
    found.violations += _budgets(store, calls, decisions)
    found.violations += _keys(store, calls, effects, answered or {})
    found.violations += _told_otherwise(calls, told or {})
    found.violations += log_violations(store)
    assert not found.violations, f"{found}\n" + "\n".join(found.violations[:40])
    return found


def _calls(store: Store) -> dict[str, CallRow]:
    sql = (
        "SELECT tool_call_id, decision_id, run_id, state, is_write, records, reserved_cents, "
        "tenant_id, agent_id, user_id, capability_id FROM gateway_toolcall"
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
        document = json.JSONDecoder().decode(text or "{}")
        found[decision_id].append(RecordRow(seq, status, bytes(leaf), text or "", document))
    return found


def _ended(calls: Mapping[str, CallRow]) -> Iterator[str]:
    """Every accepted call is terminal, or its unknown outcome is named."""
    for call in calls.values():
        if call.state not in {*ENDS, UNKNOWN}:
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
    """No effect without an APPROVED row, and an attempt, that were there before."""
    for effect in effects:
        call = calls.get(effect.tool_call_id)
        rows = decisions.get(call.decision_id, []) if call else []
        approved = [row.moment for row in rows if row.status == "APPROVED" and row.text]
        early = not effect.recorded if effect.recorded is not None else _is_early(effect, approved)
        if not approved or early:
            yield f"{effect.tool_call_id} happened without an earlier record"


def _is_early(effect: Effect, approved: list[float]) -> bool:
    """By the clocks, where the database could not be asked."""
    return min(approved, default=effect.at) > effect.at


def _unvoted(
    store: Store,
    effects: list[Effect],
    calls: Mapping[str, CallRow],
    decisions: Mapping[str, list[RecordRow]],
) -> Iterator[str]:
    """Nothing destructive without enough people who may, all of whom saw exactly what was done."""
    approvers, asked = defaultdict(set), {}
    for tool_call_id, digest, shown, approver, excluded in store.rows(_VOTES):
        asked[tool_call_id] = digest
        if digest == shown and approver not in excluded:
            approvers[tool_call_id].add(approver)
    for effect in (effect for effect in effects if effect.capability == WIPE):
        name = effect.tool_call_id
        votes = len(approvers[name])
        if effect.votes is not None and effect.votes < votes:
            votes = effect.votes  # some came too late
        if votes < QUORUM:
            yield f"{name} happened with {votes} votes"
        rows = decisions.get(calls[name].decision_id, []) if name in calls else []
        if not _bound_to(asked.get(name), rows):
            yield f"{name} was recorded as something else than people voted on"


_VOTES = (
    "SELECT request.subject_id, request.digest, vote.digest, person.user_id, request.excluded "
    "FROM approvals_vote vote "
    "JOIN approvals_approvalrequest request ON request.approval_id = vote.request_id "
    "JOIN identity_user person ON person.id = vote.approver_id "
    "WHERE vote.verdict = 'approve' AND vote.withdrawn_at IS NULL AND request.state = 'consumed'"
)


def _bound_to(digest: str | None, rows: list[RecordRow]) -> bool:
    """Whether the yes on record names this digest, by all its votes, and the arguments of every
    row of the decision are those that were there to be voted on."""
    said = [
        asked for row in rows if row.status == "APPROVED" for asked in row.document["approvals"]
    ]
    named = {one["digest"] for asked in said for one in (asked, *asked["votes"])}
    return named == {digest} and len({row.document["args_commitment"] for row in rows}) == 1


def _state_against_effects(calls: Mapping[str, CallRow], effects: list[Effect]) -> Iterator[str]:
    """What is said to be done happened; what is said to have failed did not. A read that failed
    or was called off may have been made; one that was refused was not."""
    happened = {effect.tool_call_id for effect in effects}
    for call in calls.values():
        is_there = call.tool_call_id in happened
        if call.state == UNKNOWN or (is_there and not call.is_write and call.state != "rejected"):
            continue
        if (call.state == "ok") != is_there:
            yield f"{call.tool_call_id} is {call.state}, the ledger says otherwise"


def _decision_of(call: CallRow, rows: list[RecordRow]) -> Iterator[str]:
    """Rows 1..n, the last of which says how the call ended if it has, every byte as it was."""
    if [row.seq for row in rows] != list(range(1, call.records + 1)):
        yield f"{call.decision_id} has rows {[row.seq for row in rows]}, not 1..{call.records}"
    terminal = [row.status for row in rows if row.status in TERMINAL_ROWS]
    if len(terminal) != int(call.state in ENDS):
        yield f"{call.tool_call_id} is {call.state} with terminal rows {terminal}"
    last = rows[-1].status if rows else None
    if last not in ENDS.get(call.state, {last}):
        yield f"{call.tool_call_id} is {call.state}, its last row says {last}"
    if call.state == UNKNOWN and last != "UNKNOWN":
        yield f"{call.tool_call_id} is unknown, its last row says {last}"
    for row in rows:
        yield from _text_of(call, row)


def _text_of(call: CallRow, row: RecordRow) -> Iterator[str]:
    """The text is what was hashed, and says what its columns say."""
    if hashlib.sha256(b"\0" + row.text.encode()).digest() != row.leaf_hash:
        yield f"{call.decision_id}#{row.seq} has another text than its leaf"
    names = ("decision_id", "seq", "status", "tenant_id", "run_id")
    wanted = (call.decision_id, row.seq, row.status, call.tenant_id, call.run_id)
    said = (
        *(row.document.get(name) for name in names),
        row.document.get("capability", {}).get("id"),
    )
    if said != (*wanted, call.capability_id):
        yield f"{call.decision_id}#{row.seq} says {said} in its text"


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
        spent[call.run_id] += sum(row.document.get("cost_cents") or 0 for row in rows)
    sql = "SELECT run_id, used_calls, reserved_cents, spent_cents FROM gateway_run"
    for run_id, *booked in store.rows(sql):
        owed = [used[run_id], held[run_id], spent[run_id]]
        if booked != owed:
            yield f"{run_id} has used/reserved/spent {booked}, its calls say {owed}"


def _keys(
    store: Store,
    calls: Mapping[str, CallRow],
    effects: list[Effect],
    answered: Mapping[str, str],
) -> Iterator[str]:
    """A key names one call that is there; callers were told of no other, and no other was made."""
    filed = store.rows("SELECT scope_hash, tool_call_id FROM gateway_idempotencykey")
    named = {str(scope): str(tool_call_id) for scope, tool_call_id in filed}
    for tool_call_id, count in Counter(named.values()).items():
        if tool_call_id not in calls or count > 1:
            yield f"{count} keys name {tool_call_id}"
    for key, tool_call_id in answered.items():
        if tool_call_id not in calls:
            yield f"key {key} was answered with {tool_call_id}, which is not there"
    made = [(effect.key, effect.tool_call_id) for effect in effects if effect.is_write]
    for used, tool_call_id in (*answered.items(), *made):
        call = calls.get(tool_call_id)
        if call and used and named.get(call.filed_under(used)) != tool_call_id:
            yield f"key {used} does not name {tool_call_id}, which was told or made for it"


def _told_otherwise(calls: Mapping[str, CallRow], told: Mapping[str, str]) -> Iterator[str]:
    """What callers were told of an end is how it ended."""
    for tool_call_id, status in told.items():
        call = calls.get(tool_call_id)
        if call is None or call.state != status:
            yield f"{tool_call_id} was said to be {status}, it is {call.state if call else 'lost'}"
