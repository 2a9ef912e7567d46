"""Turns what a connector brought back into a result that caller and record can rely on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, ErrorKind, coded_error, tool_error
from gateway.connectors.base import Reply
from gateway.critic import (
    CriticFinding,
    Score,
    Verdict,
    score_failure,
    score_output,
    score_unknown,
)
from gateway.upstream_words import fault_for_caller, said_by_tool
from registry.validation import Validator

_TOOL_KINDS = frozenset(kind.value for kind in ErrorKind)
DEFAULT_REMEDIATION = "Read the message, correct the arguments and call again with a new key."


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalised:
    """The end of an attempt: a status, and the output or the error that goes with it."""

    status: ResultStatus
    score: Score
    output: Any = None
    error: Mapping[str, Any] | None = None
    upstream_status: str | None = None
    cost_cents: int | None = None
    mutations: tuple[Mapping[str, Any], ...] = ()
    in_tools_words: bool = False  # the error quotes the tool, which may quote personal data
    redactions: tuple[str, ...] = ()  # places in the answer that policy hid
    rejected_output: Any = None  # storable, but not what was reviewed: kept for whoever looks


def normalise_output(
    reply: Reply,
    *,
    output_validator: Validator | None,
    evidence_keys: tuple[str, ...],
    effect_possible: bool,
) -> Normalised:
    """Accept an answer only if it is storable JSON and matches the pinned output schema.

    A write that answered something unreadable has probably happened: that is unknown, not failed.
    """
    problem = _unusable(reply.output, output_validator)
    if problem is not None:
        status = ResultStatus.UNKNOWN_OUTCOME if effect_possible else ResultStatus.FAILED
        return Normalised(
            status=status,
            score=score_unknown() if effect_possible else score_failure(problem, attempts_left=0),
            error=problem,
            upstream_status=reply.upstream_status,
            cost_cents=reply.cost_cents,
            rejected_output=reply.output if problem["code"] == "output.schema" else None,
        )
    return Normalised(
        status=ResultStatus.OK,
        score=score_output(reply.output, evidence_keys=evidence_keys),
        output=reply.output,
        upstream_status=reply.upstream_status,
        cost_cents=reply.cost_cents,
    )


def normalise_tool_error(
    reply: Reply, *, declared: Mapping[str, Mapping[str, Any]], attempts_left: int
) -> Normalised:
    """The tool said no: its declared kind and remediation, else validation the caller can mend."""
    raw = reply.error or {}
    code = said_by_tool(raw.get("code") or "TOOL_ERROR", 100)
    known = declared.get(code, {})
    kind = known.get("kind") if known.get("kind") in _TOOL_KINDS else ErrorKind.VALIDATION.value
    error = {
        "kind": kind,
        "code": code,
        "message": said_by_tool(raw.get("message") or "") or "The tool refused the call.",
        "retryable": known.get("retryable", raw.get("retryable")) is True,
        "remediation": said_by_tool(
            known.get("remediation") or raw.get("remediation") or DEFAULT_REMEDIATION
        ),
    }
    return Normalised(
        status=ResultStatus.FAILED,
        score=score_failure(error, attempts_left=attempts_left),
        error=error,
        in_tools_words=True,
        upstream_status=reply.upstream_status,
        cost_cents=reply.cost_cents,
    )


def normalise_fault(
    fault: ContextOSError, *, effect_possible: bool, attempts_left: int
) -> Normalised:
    """The way there failed. Where an effect may have happened unseen, that is what is said."""
    error = fault_for_caller(fault)
    if effect_possible:
        return Normalised(status=ResultStatus.UNKNOWN_OUTCOME, score=score_unknown(), error=error)
    return Normalised(
        status=ResultStatus.FAILED,
        score=score_failure(error, attempts_left=attempts_left),
        error=error,
    )


def normalise_cancelled(reason: str) -> Normalised:
    """The call ended because its caller, or an operator, asked for that."""
    fault = coded_error("call.cancelled", message=f"Cancelled: {reason}" if reason else None)
    error = tool_error(fault)
    finding = CriticFinding(fault.code, fault.message)
    return Normalised(
        status=ResultStatus.CANCELLED, score=Score(Verdict.REPLAN, (finding,)), error=error
    )


def normalise_refused(fault: ContextOSError) -> Normalised:
    """A call that was accepted, and may not run any more."""
    error = tool_error(fault)
    return Normalised(
        status=ResultStatus.REJECTED, score=score_failure(error, attempts_left=0), error=error
    )


def _unusable(output: Any, validator: Validator | None) -> dict[str, Any] | None:
    try:
        strict_json.refuse_depth(canonicalise(output).decode())
    except ContextOSError as fault:
        return tool_error(fault) | {"kind": ErrorKind.PROTOCOL.value, "code": "output.unstorable"}
    if validator is None or validator.is_valid(output):
        return None
    problems = validator.errors(output, mask=True)[:5]
    return {
        "kind": ErrorKind.PROTOCOL.value,
        "code": "output.schema",
        "message": "The result does not match the output schema that was reviewed.",
        "retryable": False,
        "remediation": "Tell the adapter's owner; the manifest or the tool has to change.",
        "details": {"problems": [{"pointer": p.pointer, "message": p.message} for p in problems]},
    }
