"""Hides what policy's redaction rules name in an answer, before anybody gets or keeps it (C4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from contextos.core.redaction import Redacted, RedactionRules, hide
from gateway.attempts import Attempt
from gateway.critic import CriticFinding
from gateway.normalise import Normalised
from registry.policy.bundles import redaction_rules_of
from registry.policy.selectors import CallScope
from registry.policy.types import PolicyInputs
from registry.selectors import generation_of
from registry.tenant_documents import documents_of

_SHOWN = 5
_PLACE = "/output"


def without_hidden(attempt: Attempt, outcome: Normalised) -> Normalised:
    """The outcome with hidden values gone and their places named, for caller, record and store."""
    if outcome.output is None and outcome.rejected_output is None and not outcome.mutations:
        return outcome
    rules = _rules(attempt)
    if not rules.pointers and not rules.names:
        return outcome
    answered, rejected = _hidden(outcome.output, rules), _hidden(outcome.rejected_output, rules)
    changes = hide(list(outcome.mutations), RedactionRules(names=rules.names))
    removed = tuple(f"{_PLACE}{pointer}" for pointer in (*answered.removed, *rejected.removed))
    removed += tuple(f"/mutations{pointer}" for pointer in changes.removed)
    if not removed:
        return outcome
    hidden = replace(outcome, output=answered.value, rejected_output=rejected.value)
    return noted(replace(hidden, mutations=tuple(cast(Any, changes.value))), removed)


def noted(outcome: Normalised, removed: tuple[str, ...]) -> Normalised:
    """An outcome whose values are gone already, with their places named."""
    words = f"Policy hides {', '.join(removed[:_SHOWN])}{' and more' * (len(removed) > _SHOWN)}."
    finding = CriticFinding("output.redacted", words)
    score = replace(outcome.score, findings=(*outcome.score.findings, finding))
    return replace(outcome, redactions=removed, score=score)


def _rules(attempt: Attempt) -> RedactionRules:
    """Today's: an answer that comes after a stricter policy is under it."""
    bundles = attempt.bundles
    if bundles is None:
        tenant_id = attempt.call.tenant_id
        documents = documents_of(tenant_id, generation_of(tenant_id))
        bundles = tuple(opened.bundle for opened in documents.bundles)
    if not any(bundle.redactions for bundle in bundles):
        return RedactionRules()
    return redaction_rules_of(bundles, _scope(attempt), attempt.call.tenant_id)


def _scope(attempt: Attempt) -> CallScope:
    run = {"intent": attempt.facts.intent, "environment": attempt.environment}
    return CallScope.of(PolicyInputs(capability=attempt.capability.readable, run=run))


def _hidden(value: object, rules: RedactionRules) -> Redacted:
    return Redacted(value=None, removed=()) if value is None else hide(value, rules)
