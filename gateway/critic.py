"""Judges a result: accept, try again, plan anew, or call a person; one sentence a finding (C20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from contextos.core.errors import ErrorKind
from contextos.core.json_pointer import split

# Findings that are looked for again: by the figures, by replay and on pages.
MISCLASSIFIED = "mode.misclassified"  # more happened than was declared
RECONCILED = "outcome.reconciled"  # a person found out


class Verdict(StrEnum):
    """What the caller should do next, mildest first."""

    ACCEPT = "accept"
    RETRY = "retry"
    REPLAN = "replan"
    ESCALATE = "escalate"


@dataclass(frozen=True, slots=True)
class CriticFinding:
    """One reason for a verdict."""

    code: str
    message: str

    def as_dict(self) -> dict[str, str]:
        """The finding as JSON."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict and why."""

    verdict: Verdict
    findings: tuple[CriticFinding, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The `critic` member of a result envelope."""
        return {
            "verdict": self.verdict.value,
            "findings": [finding.as_dict() for finding in self.findings],
        }


# The caller can mend these by other arguments or another way.
_MENDABLE = frozenset({ErrorKind.VALIDATION, ErrorKind.POLICY, ErrorKind.INPUT})


def score_output(output: Any, *, evidence_keys: Sequence[str]) -> Score:
    """Judge an answer that came back well: is the evidence it promised in it?"""
    missing = [key for key in evidence_keys if not has_evidence(output, key)]
    if not missing:
        return Score(Verdict.ACCEPT)
    findings = tuple(
        CriticFinding("evidence.missing", f"The result carries no value for {key}.")
        for key in missing
    )
    return Score(Verdict.ESCALATE, findings)


def score_failure(error: Mapping[str, Any], *, attempts_left: int) -> Score:
    """Judge a failed call by its error."""
    kind, code = ErrorKind(error["kind"]), str(error["code"])
    finding = CriticFinding(code, str(error["message"]))
    if error.get("retryable") and attempts_left > 0:
        return Score(Verdict.RETRY, (finding,))
    if kind in _MENDABLE:
        return Score(Verdict.REPLAN, (finding,))
    if error.get("retryable"):
        spent = CriticFinding("retry.spent", "Every attempt the retry policy allows is used.")
        return Score(Verdict.REPLAN, (finding, spent))
    return Score(Verdict.ESCALATE, (finding,))


def score_unknown() -> Score:
    """Nobody knows whether the effect happened: only a person can settle that."""
    sentence = "It is not known whether the effect happened; a person has to find out."
    return Score(Verdict.ESCALATE, (CriticFinding("outcome.unknown", sentence),))


def has_evidence(output: Any, key: str) -> bool:
    """Whether a value other than null stands there."""
    return evidence_value(output, key) is not None


def evidence_value(output: Any, key: str) -> Any:
    """What stands under a key, a dotted path or a JSON pointer; None where nothing does."""
    if isinstance(output, Mapping) and output.get(key) is not None:
        return output[key]
    return _at(output, split(key) if key.startswith("/") else tuple(key.split(".")))


def _at(value: Any, tokens: Sequence[str]) -> Any:
    for token in tokens:
        if isinstance(value, Mapping):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value
