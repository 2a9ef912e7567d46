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
    """One column: its name in files, its title on pages, how wide it is shown."""

    name: str
    title: str
    read: Callable[[Record], Any]
    kind: Kind = "text"
    width: int = 18


def member(*path: str) -> Callable[[Record], Any]:
    """Reads a value that may be absent at any step of the way."""
    if len(path) == 1:
        name = path[0]
        return lambda record: record.get(name)

    def read(record: Record) -> Any:
        value: Any = record
        for step in path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(step)
        return value

    return read


def _principal(kind: str) -> Callable[[Record], Any]:
    def read(record: Record) -> str:
        chain = record.get("principal_chain") or ()
        return next((str(link.get("id")) for link in chain if link.get("kind") == kind), "")

    return read


def _each(name: str, read: Callable[[Any], str]) -> Callable[[Record], Any]:
    return lambda record: _JOINED.join(read(item) for item in record.get(name) or ())


def _joined(name: str, part: str) -> Callable[[Record], Any]:
    return _each(name, lambda item: str(item.get(part) or ""))


def _votes(part: str) -> Callable[[Record], Any]:
    def read(record: Record) -> str:
        votes = (vote for item in record.get("approvals") or () for vote in item.get("votes") or ())
        return _JOINED.join(str(vote.get(part) or "") for vote in votes)

    return read


def _bundles(record: Record) -> str:
    bundles = (record.get("lineage") or {}).get("policy_bundles") or ()
    return _JOINED.join(f"{each.get('bundle_id')}@{each.get('version')}" for each in bundles)


def _listed(*path: str) -> Callable[[Record], Any]:
    read = member(*path)
    return lambda record: _JOINED.join(str(item) for item in read(record) or ())


COLUMNS: tuple[Column, ...] = (
    Column("decision_id", "Decision", member("decision_id"), width=32),
    Column("seq", "Row", member("seq"), "number", 6),
    Column("created_at", "Recorded (UTC)", member("created_at"), "moment", 24),
    Column("status", "Status", member("status"), width=12),
    Column("outcome", "Outcome", member("outcome"), width=10),
    Column("capability", "Capability", member("capability", "id"), width=30),
    Column("capability_class", "Class", member("capability", "class"), width=14),
    Column("mode_requested", "Mode requested", member("capability", "mode_requested"), width=14),
    Column("mode_effective", "Mode effective", member("capability", "mode_effective"), width=14),
    Column("mode_highest", "Mode highest", member("capability", "mode_highest"), width=14),
    Column("user", "On behalf of", _principal("user"), width=32),
    Column("agent", "Agent", _principal("agent"), width=24),
    Column("principal_chain", "Principal chain", _joined("principal_chain", "id"), width=40),
    Column("intent", "Intent", member("intent")),
    Column("decision_key", "Decision key", member("decision_key")),
    Column("adapter", "Adapter", member("lineage", "adapter_id"), width=24),
    Column("adapter_version", "Adapter version", member("lineage", "adapter_version"), width=10),
    Column("manifest_hash", "Manifest hash", member("lineage", "manifest_hash"), width=30),
    Column("pack", "Pack", member("lineage", "pack_ref"), width=24),
    Column("pack_hash", "Pack hash", member("lineage", "pack_hash"), width=30),
    Column("policy_bundles", "Policy bundles", _bundles, width=30),
    Column("protocol", "Protocol", member("lineage", "protocol"), width=10),
    Column("policy_allowed", "Policy allows", member("policy_decision", "allowed"), "flag", 8),
    Column("policy_reason", "Policy reason", member("policy_decision", "reason"), width=40),
    Column("rules", "Rules", _listed("policy_decision", "matched_rule_ids"), width=30),
    Column("approval_ids", "Approvals", _joined("approvals", "approval_id"), width=32),
    Column("gates", "Gates", _joined("approvals", "gate"), width=24),
    Column("approvers", "Approvers", _votes("approver"), width=32),
    Column("verdicts", "Verdicts", _votes("verdict"), width=14),
    Column("vote_reasons", "Reasons given", _votes("reason"), width=40),
    Column("error_kind", "Error kind", member("error", "kind"), width=12),
    Column("error_code", "Error code", member("error", "code"), width=24),
    Column("error_message", "Error", member("error", "message"), width=40),
    Column("attempts", "Attempts", member("attempts"), "number", 8),
    Column("repeat_count", "Repeats", member("repeat_count"), "number", 8),
    Column("cost_cents", "Cost (cents)", member("cost_cents"), "number", 10),
    Column("replayed", "Replayed", member("idempotency", "replayed"), "flag", 8),
    Column("egress_host", "Host reached", member("egress", "host"), width=24),
    Column("egress_ip", "Address reached", member("egress", "ip"), width=16),
    Column("credential", "Credential", member("credentials", "ref"), width=24),
    Column("scopes_granted", "Scopes", _listed("credentials", "scopes_granted"), width=24),
    Column("evidence_refs", "Evidence", _listed("evidence_refs"), width=30),
    Column("controls_active", "Controls", _listed("controls_active"), width=30),
    Column("redactions", "Redactions", _listed("redactions"), width=20),
    Column("run_id", "Run", member("run_id"), width=32),
    Column("session_id", "Session", member("session_id"), width=24),
    Column("trace_id", "Trace", member("trace_id"), width=34),
    Column("args_commitment", "Arguments (commitment)", member("args_commitment"), width=30),
    Column("tool_call_hash", "Call hash", member("tool_call_hash"), width=30),
    Column("tool_result_hash", "Result hash", member("tool_result_hash"), width=30),
    Column("record_hash", "Record hash", member("record_hash"), width=30),
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
