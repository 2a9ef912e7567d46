"""The words of the contract that a caller branches on."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a call stands or ended (`status` of a result)."""

    OK = "ok"
    FAILED = "failed"
    PAUSED = "paused"
    REJECTED = "rejected"
    DEFERRED = "deferred"
    CANCELLED = "cancelled"
    UNKNOWN_OUTCOME = "unknown_outcome"


class ErrorKind(StrEnum):
    """Who or what said no, or what a paused call waits for (`error.kind`)."""

    PROTOCOL = "protocol"
    VALIDATION = "validation"
    POLICY = "policy"
    APPROVAL = "approval"
    AUTH = "auth"
    SCOPE_STEP_UP = "scope_step_up"
    INPUT = "input"
    IDEMPOTENCY = "idempotency"
    RATE_LIMITED = "rate_limited"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    UPSTREAM = "upstream"
    EGRESS = "egress"
    DRIFT = "drift"
    CIRCUIT_OPEN = "circuit_open"
    INTERNAL = "internal"


class TaskState(StrEnum):
    """Where long-running work stands (`task.state`)."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ApprovalState(StrEnum):
    """Where a request for approval stands (`approval.state`)."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    VOIDED = "voided"
    CONSUMED = "consumed"


class Verdict(StrEnum):
    """What the critic says of a plan."""

    OK = "ok"
    REPLAN = "replan"
    REJECT = "reject"


class InputAction(StrEnum):
    """How a caller answers a question of a running call."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


WAITING = frozenset({Status.PAUSED, Status.DEFERRED})
