"""The canonical DecisionRecord: its bytes, its hash, the columns read back from it (pure; E1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from audit.event_record import hashed_text
from contextos.core.clock import format_time, parse_time
from contextos.core.envelopes import PrincipalKind, PrincipalRef

RECORD_VERSION = "contextos.decision_record.v1"
APPROVER, GATE, RULE = "approver", "gate", "rule"  # the kinds of mentions
EVIDENCE_MENTION = "evidence"  # a reference that the call brought along
LONGEST_MENTION = 200


class DecisionStatus(StrEnum):
    """Where a decision stands with this row."""

    PROPOSED = "PROPOSED"
    DEFERRED = "DEFERRED"
    ESCALATED = "ESCALATED"
    APPROVED = "APPROVED"
    EXECUTED = "EXECUTED"
    FAILED = "FAILED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"
    UNKNOWN = "UNKNOWN"


OUTCOMES: Mapping[DecisionStatus, str] = MappingProxyType(
    {
        DecisionStatus.PROPOSED: "pending",
        DecisionStatus.DEFERRED: "pending",
        DecisionStatus.ESCALATED: "pending",
        DecisionStatus.APPROVED: "allowed",
        DecisionStatus.EXECUTED: "executed",
        DecisionStatus.FAILED: "failed",
        DecisionStatus.REJECTED: "denied",
        DecisionStatus.EXPIRED: "denied",
        DecisionStatus.CANCELLED: "denied",
        DecisionStatus.UNKNOWN: "unknown",
    }
)
# UNKNOWN is not among them: reconciliation appends the terminal row.
TERMINAL = frozenset(
    {
        DecisionStatus.EXECUTED,
        DecisionStatus.FAILED,
        DecisionStatus.REJECTED,
        DecisionStatus.EXPIRED,
        DecisionStatus.CANCELLED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityFacts:
    """What was asked for and how far it may go."""

    id: str
    cls: str | None = None
    mode_requested: str | None = None
    mode_effective: str | None = None
    mode_highest: str | None = None

    def as_record(self) -> dict[str, Any]:
        """The members that stand in a record."""
        return {
            "id": self.id,
            "class": self.cls,
            "mode_requested": self.mode_requested,
            "mode_effective": self.mode_effective,
            "mode_highest": self.mode_highest,
        }


@dataclass(frozen=True, kw_only=True)  # no slots: who answered is added by `changed`
class LineageFacts:
    """Exactly which versions of everything took part."""

    adapter_id: str | None = None
    adapter_version: str | None = None
    manifest_hash: str | None = None
    pack_ref: str | None = None
    pack_hash: str | None = None
    policy_bundles: Sequence[Mapping[str, Any]] = ()
    skill_ref: str | None = None
    protocol: str | None = None
    protocol_version: str | None = None
    server: Mapping[str, Any] | None = None
    runtime_build: str | None = None

    def as_record(self) -> dict[str, Any]:
        """The members that stand in a record."""
        return {
            "adapter_id": self.adapter_id,
            "adapter_version": self.adapter_version,
            "manifest_hash": self.manifest_hash,
            "pack_ref": self.pack_ref,
            "pack_hash": self.pack_hash,
            "policy_bundles": [dict(bundle) for bundle in self.policy_bundles],
            "skill_ref": self.skill_ref,
            "protocol": self.protocol,
            "protocol_version": self.protocol_version,
            "server": None if self.server is None else dict(self.server),
            "runtime_build": self.runtime_build,
        }


@dataclass(frozen=True, kw_only=True)  # no slots: one row is made from the last by `changed`
class DecisionFacts:
    """Everything one row says. Values that could be personal are commitments, never the values."""

    decision_id: str
    seq: int
    tenant_id: str
    status: DecisionStatus
    principal_chain: tuple[PrincipalRef, ...]
    capability: CapabilityFacts
    created_at: datetime
    lineage: LineageFacts = field(default_factory=LineageFacts)
    run_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    session_id: str | None = None
    intent: str | None = None
    decision_key: str | None = None
    policy_decision: Mapping[str, Any] | None = None
    approvals: Sequence[Mapping[str, Any]] = ()
    evidence_refs: Sequence[str] = ()
    controls_active: Sequence[str] = ()
    args_commitment: str | None = None
    idempotency: Mapping[str, Any] | None = None
    credentials: Mapping[str, Any] | None = None
    egress: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    tool_call_hash: str | None = None
    tool_result_hash: str | None = None
    error: Mapping[str, Any] | None = None
    attempts: int = 0
    cost_cents: int | None = None
    scorecard: Mapping[str, Any] | None = None
    redactions: Sequence[str] = ()
    repeat_count: int = 1


def canonical_text(facts: DecisionFacts) -> str:
    """The one text that is stored, hashed and proved."""
    return hashed_text(as_record(facts))


def as_record(facts: DecisionFacts) -> dict[str, Any]:
    """The members of a row but for its own hash. Every member is always there."""
    return {
        "record_version": RECORD_VERSION,
        "decision_id": facts.decision_id,
        "seq": facts.seq,
        "tenant_id": facts.tenant_id,
        "run_id": facts.run_id,
        "trace_id": facts.trace_id,
        "span_id": facts.span_id,
        "session_id": facts.session_id,
        "intent": facts.intent,
        "decision_key": facts.decision_key,
        "status": facts.status.value,
        "outcome": OUTCOMES[facts.status],
        "principal_chain": [principal.as_dict() for principal in facts.principal_chain],
        "capability": facts.capability.as_record(),
        "lineage": facts.lineage.as_record(),
        "policy_decision": _copied(facts.policy_decision),
        "approvals": [dict(approval) for approval in facts.approvals],
        "evidence_refs": list(facts.evidence_refs),
        "controls_active": sorted(facts.controls_active),
        "args_commitment": facts.args_commitment,
        "idempotency": _copied(facts.idempotency),
        "credentials": _copied(facts.credentials),
        "egress": _copied(facts.egress),
        "plan": _copied(facts.plan),
        "tool_call_hash": facts.tool_call_hash,
        "tool_result_hash": facts.tool_result_hash,
        "error": _copied(facts.error),
        "attempts": facts.attempts,
        "cost_cents": facts.cost_cents,
        "scorecard": _copied(facts.scorecard),
        "redactions": sorted(facts.redactions),
        "repeat_count": facts.repeat_count,
        "created_at": format_time(facts.created_at),
    }


def facts_of(record: Mapping[str, Any]) -> DecisionFacts:
    """A stored row as facts again, so that the next row of its decision can be built on it."""
    capability, given = dict(record["capability"]), {f.name for f in fields(DecisionFacts)}
    kept = {name: value for name, value in record.items() if name in given}
    return DecisionFacts(
        **kept
        | {
            "status": DecisionStatus(record["status"]),
            "principal_chain": tuple(_link(link) for link in record["principal_chain"]),
            "capability": CapabilityFacts(cls=capability.pop("class"), **capability),
            "lineage": LineageFacts(**record["lineage"]),
            "created_at": parse_time(record["created_at"]),
        }
    )


def _link(link: Mapping[str, Any]) -> PrincipalRef:
    return PrincipalRef(
        kind=PrincipalKind(link["kind"]),
        id=link["id"],
        tenant_id=link["tenant_id"],
        display=link.get("display"),
    )


def _copied(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


COLUMNS = (
    "decision_id",
    "seq",
    "tenant_id",
    "run_id",
    "trace_id",
    "intent",
    "status",
    "outcome",
    "capability_id",
    "mode_effective",
    "adapter_id",
    "error_code",
    "agent_id",
    "user_id",
)


def derived_columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that repeat parts of the record, so that it can be searched."""
    columns = dict(zip(COLUMNS, derived_texts(record), strict=True))
    return {**columns, "created_at": parse_time(record["created_at"])}


def derived_texts(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same in the order of COLUMNS, without the time: `verify_log` compares millions."""
    capability, error = record["capability"], record["error"]
    agent, user = _outermost(record["principal_chain"])
    return (
        record["decision_id"],
        record["seq"],
        record["tenant_id"],
        record["run_id"] or "",
        record["trace_id"] or "",
        record["intent"] or "",
        record["status"],
        record["outcome"],
        capability["id"],
        capability["mode_effective"] or "",
        record["lineage"]["adapter_id"] or "",
        str(error.get("code", ""))[:100] if error else "",
        agent,
        user,
    )


def derived_mentions(record: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Who and what took part, as (kind, value); derived like the columns, for searching."""
    policy, approvals = record["policy_decision"] or {}, record["approvals"]
    rules, evidence = policy.get("matched_rule_ids"), record["evidence_refs"]
    if not (rules or approvals or evidence):
        return ()
    found = [(RULE, rule) for rule in rules or ()]
    for approval in approvals:
        found.append((GATE, approval.get("gate")))
        for vote in approval.get("votes") or ():
            found += [(APPROVER, vote.get("approver")), (APPROVER, vote.get("on_behalf_of"))]
    if record["seq"] == 1:  # what the call brought along; what it left is found by the call
        found += [(EVIDENCE_MENTION, ref) for ref in evidence]
    said = ((kind, str(value)[:LONGEST_MENTION]) for kind, value in found if value)
    return tuple(sorted(set(said)))


def _outermost(chain: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The outermost agent and user: on whose behalf, not through whom."""
    agent = user = ""
    for link in reversed(chain):
        kind = link["kind"]
        if kind == "agent":
            agent = str(link["id"])
        elif kind == "user":
            user = str(link["id"])
    return agent, user
