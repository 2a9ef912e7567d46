"""The pair of envelopes every tool call travels in, and the principals they name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.modes import ApprovalMode

TOOL_CALL_VERSION = "contextos.tool_call.v1"
TOOL_RESULT_VERSION = "contextos.tool_result.v1"
MAX_CHAIN = 16


class PrincipalKind(StrEnum):
    """What a principal is."""

    USER = "user"
    SERVICE = "service"
    AGENT = "agent"
    AUTOMATION = "automation"


class ResultStatus(StrEnum):
    """How a call stands or ended."""

    OK = "ok"
    FAILED = "failed"
    PAUSED = "paused"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    CANCELLED = "cancelled"
    UNKNOWN_OUTCOME = "unknown_outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalRef:
    """One link of a principal chain."""

    kind: PrincipalKind
    id: str
    tenant_id: str
    display: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The principal as it is written in envelopes and records."""
        return _without_unknown(
            {
                "kind": self.kind.value,
                "id": self.id,
                "tenant_id": self.tenant_id,
                "display": self.display,
            }
        )


def check_principal_chain(chain: Sequence[PrincipalRef]) -> tuple[PrincipalRef, ...]:
    """The chain, outermost first, if it is one that authority can rest on."""
    if not 1 <= len(chain) <= MAX_CHAIN:
        raise _bad_chain(f"A chain has 1 to {MAX_CHAIN} principals; this one has {len(chain)}.")
    if any(not principal.id or not principal.tenant_id for principal in chain):
        raise _bad_chain("Every principal needs an id and a tenant.")
    if len({principal.tenant_id for principal in chain}) > 1:
        raise _bad_chain("The principals of a chain belong to one tenant.")
    if len({(principal.kind, principal.id) for principal in chain}) != len(chain):
        raise _bad_chain("A principal stands in a chain only once.")
    return tuple(chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnvelope:
    """What was asked for, by whom, and in which mode (`contextos.tool_call.v1`)."""

    tool_call_id: str
    run_id: str
    trace_id: str
    capability_id: str
    args: Mapping[str, Any]
    principal_chain: tuple[PrincipalRef, ...]
    approval_mode_requested: ApprovalMode
    approval_mode_effective: ApprovalMode
    approval_mode_highest: ApprovalMode
    evidence_refs: tuple[str, ...] = ()
    session_id: str | None = None
    policy_decision_id: str | None = None
    idempotency_key: str | None = None
    auth_ref: str | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_principal_chain(self.principal_chain)
        if self.approval_mode_effective > self.approval_mode_highest:
            raise ValueError("the effective mode of a call may not exceed its highest")

    def as_dict(self) -> dict[str, Any]:
        """The envelope as JSON; optional members that are not known are left out."""
        required = {
            "envelope_version": TOOL_CALL_VERSION,
            "tool_call_id": self.tool_call_id,
            "run_id": self.run_id,
            "trace_id": self.trace_id,
            "capability_id": self.capability_id,
            "args": dict(self.args),
            "principal_chain": [principal.as_dict() for principal in self.principal_chain],
            "approval_mode_requested": self.approval_mode_requested.value,
            "approval_mode_effective": self.approval_mode_effective.value,
            "approval_mode_highest": self.approval_mode_highest.value,
            "evidence_refs": list(self.evidence_refs),
        }
        optional = {
            "session_id": self.session_id,
            "policy_decision_id": self.policy_decision_id,
            "idempotency_key": self.idempotency_key,
            "auth_ref": self.auth_ref,
            "metadata": None if self.metadata is None else dict(self.metadata),
        }
        return required | _without_unknown(optional)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultEnvelope:
    """What became of a call (`contextos.tool_result.v1`); what is not known yet is null."""

    tool_call_id: str | None
    run_id: str | None
    trace_id: str | None
    capability_id: str | None
    status: ResultStatus
    policy_decision_id: str | None = None
    latency_ms: int | None = None
    attempts: int = 0
    output: Any = None
    citations: tuple[Any, ...] = ()
    evidence_refs: tuple[str, ...] = ()
    mutations: tuple[Mapping[str, Any], ...] = ()
    decision_id: str | None = None
    replayed: bool = False
    approval: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    task: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    input_request: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    critic: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    metrics: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    adapter: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})
    error: Mapping[str, Any] | None = field(default=None, metadata={"optional": True})

    def __post_init__(self) -> None:
        if self.status is not ResultStatus.OK and self.output is not None:
            raise ValueError("only a result that is ok may carry output")

    def as_dict(self) -> dict[str, Any]:
        """The envelope as JSON; members marked optional are left out when they are not known."""
        body: dict[str, Any] = {"envelope_version": TOOL_RESULT_VERSION}
        for name in _RESULT_MEMBERS:
            value = getattr(self, name)
            if value is not None or name not in _LEFT_OUT_UNKNOWN:
                body[name] = _plain(value)
        return body


_RESULT_MEMBERS = tuple(member.name for member in fields(ToolResultEnvelope))
_LEFT_OUT_UNKNOWN = frozenset(
    member.name for member in fields(ToolResultEnvelope) if member.metadata.get("optional")
)
_PLAIN = frozenset({str, int, bool, float})


def _plain(value: Any) -> Any:
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _without_unknown(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _bad_chain(message: str) -> ContextOSError:
    return coded_error("principal.invalid", message=message)
