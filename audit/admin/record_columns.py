"""The columns a list of records can show, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from audit.models import DecisionAmount
from audit.record_texts import StoredRecord
from contextos.adminkit.display import Tone, badge, mode_badge, when
from contextos.core.text import single_line

STATUS_TONES: dict[str, Tone] = {
    "PROPOSED": "info",
    "DEFERRED": "info",
    "ESCALATED": "warning",
    "APPROVED": "success",
    "EXECUTED": "success",
    "FAILED": "danger",
    "REJECTED": "danger",
    "EXPIRED": "neutral",
    "CANCELLED": "neutral",
    "UNKNOWN": "danger",
}


@dataclass(frozen=True, slots=True)
class Known:
    """What the rows of a page need besides themselves."""

    people: Mapping[str, str]
    amounts: Mapping[str, DecisionAmount]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `value` makes the cell."""

    key: str
    title: str
    value: Callable[[StoredRecord, Known], SafeString | str]


def approvers_of(record: Mapping[str, Any]) -> list[str]:
    """Who voted, by id, in the order of their votes."""
    votes = (vote for one in record.get("approvals") or () for vote in one.get("votes") or ())
    return list(dict.fromkeys(str(vote.get("approver") or "") for vote in votes))


def person(known: Known, user_id: str) -> str:
    """A person by the name they sign in with, anybody else by id."""
    return single_line(known.people.get(user_id, user_id), limit=60)


def _agent(row: StoredRecord, known: Known) -> str:
    return single_line(row.head.agent_id, limit=60)


def _user(row: StoredRecord, known: Known) -> str:
    return person(known, row.head.user_id)


def _approvers(row: StoredRecord, known: Known) -> str:
    return ", ".join(person(known, one) for one in approvers_of(row.record))


def _rules(row: StoredRecord, known: Known) -> str:
    policy = row.record.get("policy_decision") or {}
    return single_line(", ".join(map(str, policy.get("matched_rule_ids") or ())), limit=160)


def _gates(row: StoredRecord, known: Known) -> str:
    gates = (one.get("gate") for one in row.record.get("approvals") or ())
    return single_line(", ".join(str(gate) for gate in gates if gate), limit=160)


def _amount(row: StoredRecord, known: Known) -> str:
    found = known.amounts.get(row.head.decision_id)
    return "" if found is None else f"{found.amount.normalize():,f} {found.unit}".strip()


def _place(row: StoredRecord, known: Known) -> str:
    return "not sealed yet" if row.log_index is None else str(row.log_index)


def _status(row: StoredRecord, known: Known) -> SafeString:
    status = row.head.status
    return badge(status.capitalize(), STATUS_TONES.get(status, "neutral"))


def _mode(row: StoredRecord, known: Known) -> SafeString | str:
    return mode_badge(row.head.mode_effective) if row.head.mode_effective else ""


def _head(name: str) -> Callable[[StoredRecord, Known], str]:
    return lambda row, known: single_line(str(getattr(row.head, name)), limit=120)


COLUMNS: Mapping[str, Column] = {
    column.key: column
    for column in (
        Column("status", "Ended as", _status),
        Column("when", "When", lambda row, known: when(row.head.created_at)),
        Column("agent", "Agent", _agent),
        Column("user", "For", _user),
        Column("approver", "Approved by", _approvers),
        Column("amount", "Amount", _amount),
        Column("mode", "Mode", _mode),
        Column("error", "Error", _head("error_code")),
        Column("rule", "Rules", _rules),
        Column("gate", "Gate", _gates),
        Column("adapter", "Adapter", _head("adapter_id")),
        Column("intent", "Intent", _head("intent")),
        Column("seq", "Row", _head("seq")),
        Column("run", "Run", _head("run_id")),
        Column("trace", "Trace", _head("trace_id")),
        Column("log", "Place in the log", _place),
    )
}
USUAL = ("status", "when", "agent", "user", "approver", "amount", "error")


def chosen_columns(keys: Iterable[str], *, sees_values: bool) -> list[Column]:
    """Those asked for that exist, in our order; amounts only with clearance."""
    asked = set(keys) & set(COLUMNS) or set(USUAL)
    hidden = set() if sees_values else {"amount"}
    return [column for key, column in COLUMNS.items() if key in asked - hidden]
