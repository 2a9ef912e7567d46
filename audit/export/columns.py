"""The columns of tables: where each value stands in a record, and of what kind it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from contextos.core.errors import coded_error

Kind = Literal["text", "number", "moment", "flag"]
Value = str | int | float | bool | None
Record = Mapping[str, Any]
_JOINED = "; "


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name in files, its title on pages, where its value lies, how wide it is."""

    name: str
    title: str
    path: tuple[str, ...]
    kind: Kind = "text"
    width: int = 18
    words: Callable[[Any], str] | None = None  # of a list: what the cell says of it

    def read(self, record: Record) -> Any:
        """The value, which may be absent at any step of the way."""
        value: Any = record
        for step in self.path:
            value = value.get(step) if isinstance(value, Mapping) else None
        return self.words(value or ()) if self.words else value


def _at(*path: str) -> tuple[str, ...]:
    return path


def _principal(kind: str) -> Callable[[Any], str]:
    def read(chain: Any) -> str:
        for link in chain:
            if link.get("kind") == kind:
                return str(link.get("id"))
        return ""

    return read


def _each(part: str) -> Callable[[Any], str]:
    return lambda items: _JOINED.join([str(item.get(part) or "") for item in items])


def _votes(part: str) -> Callable[[Any], str]:
    def read(approvals: Any) -> str:
        votes = [vote for item in approvals for vote in item.get("votes") or ()]
        return _JOINED.join([str(vote.get(part) or "") for vote in votes])

    return read


def _bundles(bundles: Any) -> str:
    return _JOINED.join([f"{each.get('bundle_id')}@{each.get('version')}" for each in bundles])


def _all(items: Any) -> str:
    return _JOINED.join([str(item) for item in items])


COLUMNS: tuple[Column, ...] = (
    Column("decision_id", "Decision", _at("decision_id"), width=32),
    Column("seq", "Row", _at("seq"), "number", 6),
    Column("created_at", "Recorded (UTC)", _at("created_at"), "moment", 24),
    Column("status", "Status", _at("status"), width=12),
    Column("outcome", "Outcome", _at("outcome"), width=10),
    Column("capability", "Capability", _at("capability", "id"), width=30),
    Column("capability_class", "Class", _at("capability", "class"), width=14),
    Column("mode_requested", "Mode requested", _at("capability", "mode_requested"), width=14),
    Column("mode_effective", "Mode effective", _at("capability", "mode_effective"), width=14),
    Column("mode_highest", "Mode highest", _at("capability", "mode_highest"), width=14),
    Column("user", "On behalf of", _at("principal_chain"), width=32, words=_principal("user")),
    Column("agent", "Agent", _at("principal_chain"), width=24, words=_principal("agent")),
    Column(
        "principal_chain", "Principal chain", _at("principal_chain"), width=40, words=_each("id")
    ),
    Column("intent", "Intent", _at("intent")),
    Column("decision_key", "Decision key", _at("decision_key")),
    Column("adapter", "Adapter", _at("lineage", "adapter_id"), width=24),
    Column("adapter_version", "Adapter version", _at("lineage", "adapter_version"), width=10),
    Column("manifest_hash", "Manifest hash", _at("lineage", "manifest_hash"), width=30),
    Column("pack", "Pack", _at("lineage", "pack_ref"), width=24),
    Column("pack_hash", "Pack hash", _at("lineage", "pack_hash"), width=30),
    Column(
        "policy_bundles",
        "Policy bundles",
        _at("lineage", "policy_bundles"),
        width=30,
        words=_bundles,
    ),
    Column("protocol", "Protocol", _at("lineage", "protocol"), width=10),
    Column("policy_allowed", "Policy allows", _at("policy_decision", "allowed"), "flag", 8),
    Column("policy_reason", "Policy reason", _at("policy_decision", "reason"), width=40),
    Column("rules", "Rules", _at("policy_decision", "matched_rule_ids"), width=30, words=_all),
    Column("approval_ids", "Approvals", _at("approvals"), width=32, words=_each("approval_id")),
    Column("gates", "Gates", _at("approvals"), width=24, words=_each("gate")),
    Column("approvers", "Approvers", _at("approvals"), width=32, words=_votes("approver")),
    Column("verdicts", "Verdicts", _at("approvals"), width=14, words=_votes("verdict")),
    Column("vote_reasons", "Reasons given", _at("approvals"), width=40, words=_votes("reason")),
    Column("error_kind", "Error kind", _at("error", "kind"), width=12),
    Column("error_code", "Error code", _at("error", "code"), width=24),
    Column("error_message", "Error", _at("error", "message"), width=40),
    Column("attempts", "Attempts", _at("attempts"), "number", 8),
    Column("repeat_count", "Repeats", _at("repeat_count"), "number", 8),
    Column("cost_cents", "Cost (cents)", _at("cost_cents"), "number", 10),
    Column("replayed", "Replayed", _at("idempotency", "replayed"), "flag", 8),
    Column("egress_host", "Host reached", _at("egress", "host"), width=24),
    Column("egress_ip", "Address reached", _at("egress", "ip"), width=16),
    Column("credential", "Credential", _at("credentials", "ref"), width=24),
    Column("scopes_granted", "Scopes", _at("credentials", "scopes_granted"), width=24, words=_all),
    Column("evidence_refs", "Evidence", _at("evidence_refs"), width=30, words=_all),
    Column("controls_active", "Controls", _at("controls_active"), width=30, words=_all),
    Column("redactions", "Redactions", _at("redactions"), width=20, words=_all),
    Column("run_id", "Run", _at("run_id"), width=32),
    Column("session_id", "Session", _at("session_id"), width=24),
    Column("trace_id", "Trace", _at("trace_id"), width=34),
    Column("args_commitment", "Arguments (commitment)", _at("args_commitment"), width=30),
    Column("tool_call_hash", "Call hash", _at("tool_call_hash"), width=30),
    Column("tool_result_hash", "Result hash", _at("tool_result_hash"), width=30),
    Column("record_hash", "Record hash", _at("record_hash"), width=30),
)
BY_NAME: Mapping[str, Column] = {column.name: column for column in COLUMNS}
NAMES = tuple(BY_NAME)


def read_columns(names: Iterable[Any]) -> tuple[str, ...]:
    """The columns asked for, in that order; one that does not exist is refused."""
    chosen = tuple(dict.fromkeys(str(name) for name in names))
    unknown = [name for name in chosen if name not in BY_NAME]
    if unknown:
        raise coded_error(
            "export.column_unknown",
            message=f"There is no column called {unknown[0][:50]}.",
            data={"known": list(NAMES)},
        )
    return chosen


def chosen_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """The columns of those names; all of them when none is named."""
    return tuple(BY_NAME[name] for name in names) if names else COLUMNS


def record_of(text: bytes) -> dict[str, Any]:
    """A stored text as members; it was canonical when it was written."""
    record: dict[str, Any] = orjson.loads(text)
    return record
