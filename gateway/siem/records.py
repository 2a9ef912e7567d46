"""A row of the log as a SIEM reads it: names, codes and hashes; no value, no free text (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core.text import reveal_invisible

SCHEMA = "contextos.siem.v1"
LONGEST = 200
Value = str | int | list[str] | None

# 0 to 10, as CEF counts: from 7 on somebody should look.
_STATUS = {
    "EXECUTED": 2,
    "FAILED": 4,
    "REJECTED": 5,
    "EXPIRED": 4,
    "CANCELLED": 2,
    "UNKNOWN": 8,
}
_GRAVE_MODES = frozenset({"delegated", "destructive"})
_ACTIONS = {
    "approval.vote_refused": 7,
    "approval.voided": 5,
    "call.replay_differed": 9,
    "call.mode_corrected": 6,
    "kill_switch.thrown": 7,
    "kill_switch.lifted": 6,
    "capability.quarantined": 7,
    "gateway.breaker.opened": 5,
    "identity.user.superuser_created": 8,
    "identity.role.granted": 5,
    "identity.factor.reset": 6,
    "identity.key.rotated": 5,
    "erasure.carried_out": 6,
    "retention.purged": 6,
    "audit.export.downloaded": 5,
}
# Members of an event that are names, codes or counts; everything else stays in the log.
_TOLD = (
    "gate",
    "gate_version",
    "verdict",
    "version",
    "adapter_id",
    "environment",
    "capability_id",
    "decision_id",
    "risk",
    "role",
    "code",
    "scope",
    "format",
    "rows",
    "declared",
    "corrected",
)


@dataclass(frozen=True, slots=True)
class SiemRecord:
    """One row; `id` and `log_index` stay the same however often it is sent."""

    id: str
    log_index: int
    time: str
    tenant_id: str
    kind: str  # decision | event | test
    name: str
    title: str
    severity: int
    fields: Mapping[str, Value]

    def document(self) -> dict[str, Any]:
        """Every member, those that say nothing left out."""
        head = {
            "schema": SCHEMA,
            "id": self.id,
            "log_index": self.log_index,
            "time": self.time,
            "tenant_id": self.tenant_id,
            "kind": self.kind,
            "name": self.name,
            "title": self.title,
            "severity": self.severity,
        }
        said = {name: value for name, value in self.fields.items() if value not in (None, "", [])}
        return {**head, **said}


def decision_record(record_id: str, log_index: int, record: Mapping[str, Any]) -> SiemRecord:
    """A row of a decision."""
    status = str(record["status"])
    return SiemRecord(
        id=record_id,
        log_index=log_index,
        time=str(record["created_at"]),
        tenant_id=str(record["tenant_id"]),
        kind="decision",
        name=f"decision.{status.lower()}",
        title=f"Decision {status.lower()}",
        severity=_severity(status, record["capability"]["mode_effective"]),
        fields=_decision_fields(record),
    )


def _severity(status: str, mode: str | None) -> int:
    grave = status == "EXECUTED" and mode in _GRAVE_MODES
    return 5 if grave else _STATUS.get(status, 1)


def _decision_fields(record: Mapping[str, Any]) -> dict[str, Value]:
    capability, lineage = record["capability"], record["lineage"]
    policy, error = record["policy_decision"] or {}, record["error"] or {}
    approvals = record["approvals"]
    votes = [vote for item in approvals for vote in item.get("votes") or ()]
    return {
        "decision_id": record["decision_id"],
        "seq": record["seq"],
        "status": record["status"],
        "outcome": record["outcome"],
        "capability": _text(capability["id"]),
        "capability_class": capability["class"],
        "mode_requested": capability["mode_requested"],
        "mode_effective": capability["mode_effective"],
        "mode_highest": capability["mode_highest"],
        "adapter": lineage["adapter_id"],
        "adapter_version": lineage["adapter_version"],
        "agent": _principal(record, "agent"),
        "user": _principal(record, "user"),
        "run_id": record["run_id"],
        "trace_id": record["trace_id"],
        "intent": _text(record["intent"]),
        "rules": [_text(rule) for rule in policy.get("matched_rule_ids") or ()],
        "gate": next((_text(item["gate"]) for item in approvals if item.get("gate")), ""),
        "approvers": [_text(vote.get("approver")) for vote in votes],
        "error_kind": error.get("kind"),
        "error_code": _text(error.get("code")),
        "egress_host": (record["egress"] or {}).get("host"),
        "attempts": record["attempts"],
        "cost_cents": record["cost_cents"],
        "repeat_count": record["repeat_count"],
        "record_hash": record["record_hash"],
    }


def event_record(
    event_id: str, log_index: int, record: Mapping[str, Any], title: str
) -> SiemRecord:
    """One thing somebody did."""
    actor, subject = record["actor"], record["subject"]
    data = record.get("data") or {}
    told = {name: _scalar(data[name]) for name in _TOLD if name in data}
    return SiemRecord(
        id=event_id,
        log_index=log_index,
        time=str(record["created_at"]),
        tenant_id=str(record["tenant_id"]),
        kind="event",
        name=str(record["action"]),
        title=title,
        severity=_ACTIONS.get(str(record["action"]), 3),
        fields={
            "action": record["action"],
            "actor_kind": actor["kind"],
            "actor": _text(actor["id"]),
            "subject_kind": subject["kind"],
            "subject": _text(subject["id"]),
            "trace_id": record["trace_id"],
            **told,
            "record_hash": record["record_hash"],
        },
    )


def _principal(record: Mapping[str, Any], kind: str) -> str:
    chain = record["principal_chain"]
    return next((_text(link["id"]) for link in chain if link["kind"] == kind), "")


def _scalar(value: Any) -> Value:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _text(value) if isinstance(value, str) else None


def _text(value: Any) -> str:
    """What an agent may have written: short, and with what nobody sees made visible."""
    return "" if value is None else reveal_invisible(str(value)[:LONGEST])
