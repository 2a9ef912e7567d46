"""What goes into a policy decision and what comes out: small frozen types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from types import MappingProxyType
from typing import Any

from contextos.core.canonical import canonicalise
from contextos.core.changing import changed
from contextos.core.modes import ApprovalMode
from registry.documents import refusal
from registry.validation import Problem

JSONObject = Mapping[str, Any]
NOTHING: JSONObject = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PolicyInputs:
    """Everything a decision may depend on; nothing else is ever read.

    `run` carries `tenant_id`, `intent`, `environment`, `safety_mode` and `flags`; `capability`
    carries the manifest's own field names; `evidence.refs` holds only refs that resolve in the
    tenant, `evidence.keys` the names they are known by; `time` comes from `time_facts`.
    """

    capability: JSONObject
    run: JSONObject = field(default_factory=dict)
    user: JSONObject = field(default_factory=dict)
    agent: JSONObject = field(default_factory=dict)
    args: JSONObject = field(default_factory=dict)
    context: JSONObject = field(default_factory=dict)
    evidence: JSONObject = field(default_factory=dict)
    time: JSONObject = field(default_factory=dict)
    mode_requested: str | None = None
    permitted: bool = False

    def readable(self) -> dict[str, Any]:
        """What rules may read, under the names they read it by."""
        return {
            "user": dict(self.user),
            "agent": dict(self.agent),
            "run": dict(self.run),
            "request": {"args": dict(self.args), "context": dict(self.context)},
            "capability": dict(self.capability),
            "evidence": dict(self.evidence),
            "time": dict(self.time),
        }

    def document(self) -> dict[str, Any]:
        """All of it, as kept for replay and covered by `inputs_hash`."""
        return {
            **self.readable(),
            "approval_mode_requested": self.mode_requested,
            "permitted": self.permitted,
        }


_ROOTS = ("user", "agent", "run", "capability", "evidence", "time")


def read_inputs(document: object) -> PolicyInputs:
    """Inputs as a bundle's tests and the simulator write them.

    The form of `PolicyInputs.document`; a missing part is empty, and a permission is taken as
    given unless the document says `"permitted": false`.
    """
    if not isinstance(document, dict):
        raise refusal("policy_input.invalid", [Problem("", "Expected an object.", "type")])
    request = _object(document, "request", "")
    return PolicyInputs(
        **{root: _object(document, root, "") for root in _ROOTS},
        args=_object(request, "args", "/request"),
        context=_object(request, "context", "/request"),
        mode_requested=_optional_text(document, "approval_mode_requested"),
        permitted=document.get("permitted", True) is True,
    )


def _object(owner: JSONObject, name: str, place: str) -> JSONObject:
    value = owner.get(name)
    if value is None:
        return NOTHING
    if not isinstance(value, dict):
        problem = Problem(f"{place}/{name}", "Expected an object.", "type")
        raise refusal("policy_input.invalid", [problem])
    return value


def _optional_text(owner: JSONObject, name: str) -> str | None:
    value = owner.get(name)
    if value is not None and not isinstance(value, str):
        raise refusal("policy_input.invalid", [Problem(f"/{name}", "Expected a string.", "type")])
    return value


def time_facts(at: datetime) -> dict[str, Any]:
    """What rules may read under `time`: the moment of the call, in UTC."""
    moment = at.astimezone(UTC)
    return {
        "now": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "epoch_seconds": int(moment.timestamp()),
        "date": moment.date().isoformat(),
        "hour": moment.hour,
        "minute": moment.minute,
        "weekday": moment.isoweekday(),
    }


def mode_named(value: object) -> ApprovalMode | None:
    """The mode a value names, if it names one."""
    try:
        return ApprovalMode(value) if isinstance(value, str) else None
    except ValueError:
        return None


class RuleKind(IntEnum):
    """What a rule asks for; the greater beats the lesser."""

    ALLOW = 1
    APPROVAL = 2
    DENY = 3


@dataclass(frozen=True, slots=True)
class Effect:
    """A rule's `then`."""

    allow: bool
    approval_mode: ApprovalMode | None = None
    gate: str | None = None
    drops_gate: bool = False
    quorum: int | None = None
    arg_constraints: JSONObject = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    prohibits: tuple[str, ...] = ()

    @property
    def kind(self) -> RuleKind:
        """Deny, approval or allow; only a gate or a quorum makes it an approval."""
        if not self.allow:
            return RuleKind.DENY
        asks_people = self.gate is not None or self.quorum is not None
        return RuleKind.APPROVAL if asks_people else RuleKind.ALLOW


@dataclass(frozen=True)  # no slots: it is stamped by `changed`
class PolicyDecision:
    """The verdict; but for its id and its time a pure function of the inputs."""

    allowed: bool
    reason: str
    effective_approval_mode: ApprovalMode | None
    inputs_hash: str
    requires_approval_gate: str | None = None
    quorum: int | None = None
    requires: tuple[str, ...] = ()
    prohibits: tuple[str, ...] = ()
    arg_constraints: JSONObject = field(default_factory=dict)
    matched_rule_ids: tuple[str, ...] = ()
    bundle_versions: tuple[str, ...] = ()
    policy_decision_id: str | None = None
    evaluated_at: str | None = None

    @property
    def reason_code(self) -> str:
        """The code at the head of the reason."""
        return self.reason.partition(":")[0]

    @property
    def approver(self) -> str:
        """Who takes the approve step where no gate is asked for."""
        if self.matched_rule_ids:
            return f"policy:{self.matched_rule_ids[0]}"
        return f"policy:default.{self.effective_approval_mode}"

    def stamped(
        self, *, policy_decision_id: str | None, evaluated_at: str | None
    ) -> PolicyDecision:
        """The same decision with its id and time."""
        return changed(self, policy_decision_id=policy_decision_id, evaluated_at=evaluated_at)

    def verdict(self) -> dict[str, Any]:
        """The decision as JSON, without id and time."""
        mode = self.effective_approval_mode
        return {
            "allowed": self.allowed,
            "reason": self.reason,
            "effective_approval_mode": None if mode is None else mode.value,
            "requires_approval_gate": self.requires_approval_gate,
            "quorum": self.quorum,
            "requires": list(self.requires),
            "prohibits": list(self.prohibits),
            "arg_constraints": {path: dict(c) for path, c in self.arg_constraints.items()},
            "matched_rule_ids": list(self.matched_rule_ids),
            "bundle_versions": list(self.bundle_versions),
            "inputs_hash": self.inputs_hash,
        }

    def document(self) -> dict[str, Any]:
        """The decision as JSON, as records and envelopes carry it."""
        return {
            "policy_decision_id": self.policy_decision_id,
            "evaluated_at": self.evaluated_at,
            **self.verdict(),
        }

    def projection(self) -> dict[str, Any]:
        """The part an approval is bound to: a change here voids it, anything else does not."""
        verdict = self.verdict()
        return {name: verdict[name] for name in _PROJECTED}

    def canonical(self) -> bytes:
        """The bytes that are the same whenever the inputs are."""
        return canonicalise(self.verdict())


_PROJECTED = (
    "allowed",
    "effective_approval_mode",
    "requires_approval_gate",
    "quorum",
    "requires",
    "prohibits",
    "arg_constraints",
)
