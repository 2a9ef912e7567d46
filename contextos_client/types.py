"""What the gateway answers, as frozen objects; members this client does not know stay in `raw`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .reading import Json, Members
from .vocabulary import WAITING, ApprovalState, ErrorKind, Status, TaskState, Verdict


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call did not do what was asked, and what to do next."""

    code: str
    message: str
    remediation: str
    retryable: bool
    kind: ErrorKind | None  # None: a word this client does not know; it stands in raw
    retry_after: float | None = None  # seconds
    details: Json = field(default_factory=dict)
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, raw: Json) -> ToolError:
        """From the `error` of a result, or from problem details (whose sentence is `detail`)."""
        members = Members(raw, "error")
        wait = members.maybe("retry_after_ms", int)
        sentence = members.maybe("message", str) or members.maybe("detail", str)
        return cls(
            code=members.text("code"),
            message=sentence or members.maybe("title", str) or "",
            remediation=members.maybe("remediation", str) or "",
            retryable=members.flag("retryable"),
            kind=_known_kind(members.maybe("kind", str)),
            retry_after=None if wait is None else wait / 1000,
            details=members.object("details"),
            raw=raw,
        )


def _known_kind(word: str | None) -> ErrorKind | None:
    return ErrorKind(word) if word in set(ErrorKind) else None


@dataclass(frozen=True, slots=True)
class Task:
    """Long-running work behind a call."""

    task_id: str
    state: TaskState
    poll_after: float  # seconds
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, raw: Json) -> Task:
        """From the `task` of a result."""
        members = Members(raw, "task")
        return cls(
            task_id=members.text("task_id"),
            state=members.choice("state", TaskState),
            poll_after=members.integer("poll_after_ms") / 1000,
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class Approval:
    """The gate a call waits at, or waited at."""

    gate: str
    approval_id: str
    state: ApprovalState
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, raw: Json) -> Approval:
        """From the `approval` of a result."""
        members = Members(raw, "approval")
        return cls(
            gate=members.text("gate"),
            approval_id=members.text("approval_id"),
            state=members.choice("state", ApprovalState),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What became of a call. Waiting and failed calls are results too; look at `status`."""

    status: Status
    tool_call_id: str | None
    run_id: str | None
    trace_id: str | None
    capability_id: str | None
    policy_decision_id: str | None
    decision_id: str | None
    latency_ms: int | None
    attempts: int
    replayed: bool
    output: Any
    evidence_refs: tuple[str, ...]
    mutations: tuple[Json, ...]
    citations: tuple[Any, ...]
    error: ToolError | None
    task: Task | None
    approval: Approval | None
    input_request: Json | None
    raw: Json = field(repr=False)
    traceparent: str | None = None  # as the gateway echoed it
    retry_after: float | None = None  # seconds, of the Retry-After header

    @classmethod
    def read(
        cls, raw: Json, *, traceparent: str | None = None, retry_after: float | None = None
    ) -> ToolResult:
        """From a result envelope."""
        members = Members(raw, "result")
        return cls(
            status=members.choice("status", Status),
            tool_call_id=members.maybe("tool_call_id", str),
            run_id=members.maybe("run_id", str),
            trace_id=members.maybe("trace_id", str),
            capability_id=members.maybe("capability_id", str),
            policy_decision_id=members.maybe("policy_decision_id", str),
            decision_id=members.maybe("decision_id", str),
            latency_ms=members.maybe("latency_ms", int),
            attempts=members.maybe("attempts", int) or 0,
            replayed=members.flag("replayed"),
            output=raw.get("output"),
            evidence_refs=members.texts("evidence_refs"),
            mutations=members.each("mutations", dict),
            citations=members.items("citations"),
            error=members.part("error", ToolError.read),
            task=members.part("task", Task.read),
            approval=members.part("approval", Approval.read),
            input_request=members.maybe("input_request", dict),
            raw=raw,
            traceparent=traceparent,
            retry_after=retry_after,
        )

    @property
    def ok(self) -> bool:
        """Whether the call did what was asked; only then there is an output."""
        return self.status is Status.OK

    @property
    def is_waiting(self) -> bool:
        """Whether the call has yet to end: it waits for a person, an answer, or its own work."""
        return self.status in WAITING

    @property
    def needs_input(self) -> bool:
        """Whether the call waits for an answer that you give with `give_input`."""
        asked = self.error is not None and self.error.kind is ErrorKind.INPUT
        working = self.task is not None and self.task.state is TaskState.INPUT_REQUIRED
        return self.is_waiting and (asked or working)

    @property
    def poll_after(self) -> float | None:
        """When to look again, in seconds, if the gateway said so."""
        said = [self.retry_after, self.task.poll_after if self.task else None]
        return max((wait for wait in said if wait is not None), default=None)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """Both envelopes of one call: what was asked for, and what became of it so far."""

    call: Json
    result: ToolResult | None  # None: taken by a worker, nothing to tell yet
    raw: Json = field(repr=False)

    @classmethod
    def read(
        cls, raw: Json, *, traceparent: str | None = None, retry_after: float | None = None
    ) -> CallRecord:
        """From `{call, result}`."""
        members = Members(raw, "answer")

        def result(found: Json) -> ToolResult:
            return ToolResult.read(found, traceparent=traceparent, retry_after=retry_after)

        return cls(call=members.object("call"), result=members.part("result", result), raw=raw)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with one step of a plan."""

    step_id: str
    code: str
    message: str
    severity: str

    @classmethod
    def read(cls, raw: Json) -> Finding:
        """From one of the `findings` of a verdict."""
        members = Members(raw, "finding")
        return cls(
            step_id=members.text("step_id"),
            code=members.text("code"),
            message=members.text("message"),
            severity=members.text("severity"),
        )


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What the critic says of a plan before any of it runs."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    approval_required_steps: tuple[str, ...]
    effective_modes: Mapping[str, str]
    expanded_steps: tuple[Json, ...]
    raw: Json = field(repr=False)
    traceparent: str | None = None

    @classmethod
    def read(cls, raw: Json, *, traceparent: str | None = None) -> PlanVerdict:
        """From the answer of `plans/verify`."""
        members = Members(raw, "verdict")
        return cls(
            verdict=members.choice("verdict", Verdict),
            findings=members.each("findings", Finding.read),
            approval_required_steps=members.texts("approval_required_steps"),
            effective_modes=members.object("effective_modes"),
            expanded_steps=members.each("expanded_steps", dict),
            raw=raw,
            traceparent=traceparent,
        )

    @property
    def ok(self) -> bool:
        """Whether the plan may be carried out as it is."""
        return self.verdict is Verdict.OK
