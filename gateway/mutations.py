"""What a tool says it changed: kept in the result, and held against what was declared (E5).

A capability that is not write-class promised to change nothing. When its tool reports a change all
the same, its mode is misclassified: the critic says so in the record, and a person is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.attempts import Attempt
from gateway.connectors.base import Reply
from gateway.critic import MISCLASSIFIED, CriticFinding, Verdict
from gateway.normalise import Normalised
from gateway.upstream_words import said_by_tool

MOST = 100
_LONGEST = 200


def with_mutations(outcome: Normalised, reply: Reply) -> Normalised:
    """The outcome with what the tool says it changed."""
    changes = mutations_of(reply.mutations)
    return replace(outcome, mutations=changes) if changes else outcome


def judged_changes(attempt: Attempt, outcome: Normalised) -> Normalised:
    """The outcome with a finding of its own where more was changed than was declared."""
    changes = outcome.mutations
    if not changes or attempt.call.is_write:
        return outcome
    declared = attempt.facts.capability
    words = (
        f"The tool reports {len(changes)} change{'s'[: len(changes) != 1]}, though the capability "
        f"is declared as {declared.cls} and {declared.mode_highest}, which changes nothing."
    )
    finding = CriticFinding(MISCLASSIFIED, words)
    findings = (*outcome.score.findings, finding)
    return replace(
        outcome, score=replace(outcome.score, verdict=Verdict.ESCALATE, findings=findings)
    )


def mutations_of(stated: Any) -> tuple[dict[str, str], ...]:
    """The changes that can be told: each with a kind and a reference, in the tool's own words."""
    listed = stated if isinstance(stated, list | tuple) else ()
    return tuple(_told(item) for item in listed[:MOST] if _is_told(item))


def _is_told(item: Any) -> bool:
    return isinstance(item, Mapping) and all(
        isinstance(item.get(name), str) and item[name].strip() for name in ("kind", "ref")
    )


def _told(item: Mapping[str, Any]) -> dict[str, str]:
    told = {name: said_by_tool(item[name], _LONGEST) for name in ("kind", "ref")}
    token = item.get("reversal_token")
    return told | ({"reversal_token": token[:_LONGEST]} if isinstance(token, str) else {})
