"""What a draft would have changed: each decision under what was in force, and under the draft."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.decision_record import DecisionStatus
from contextos.core.canonical import digest
from gateway.critic import has_evidence
from gateway.pipeline import Stamp
from gateway.replaying.deciding import Decided, opened_context, steps_again
from gateway.replaying.findings import UNREADABLE, Findings, NotReplayable
from gateway.replaying.integrity import check_rows, check_values
from gateway.replaying.recorded import RecordedDecision
from gateway.replaying.surroundings import Surroundings, terms_of

MOST_KINDS = 60
EXAMPLES_OF_A_KIND = 10
REST = "other changes"


@dataclass(frozen=True, slots=True)
class Stand:
    """How a call fares, as far as its documents, arguments and inputs decide it."""

    verdict: str  # allowed, waits for GATE, refused (code)
    mode: str = ""
    quorum: int | None = None
    duties: str = ""  # a digest: what it has to bring, may not bring, and the bounds of arguments
    rules: tuple[str, ...] = ()
    result: str = ""  # what becomes of the recorded answer

    def as_dict(self) -> dict[str, Any]:
        """As an example shows it."""
        return {
            "verdict": self.verdict,
            "mode": self.mode,
            "quorum": self.quorum,
            "rules": list(self.rules),
            "result": self.result,
        }


def stand_of(decided: Decided, decision: RecordedDecision) -> Stand:
    """From the steps taken again."""
    context, verdict = decided.context, decided.context.decision
    rules = verdict.matched_rule_ids if verdict else ()
    if decided.refusal is not None:
        return Stand(f"refused ({decided.refusal.code})", rules=rules)
    if verdict is None:
        return Stand("passes, as far as the record goes")
    gate = verdict.requires_approval_gate
    duties = [list(verdict.requires), list(verdict.prohibits), verdict.verdict()["arg_constraints"]]
    return Stand(
        verdict=f"waits for {gate}" if gate else "allowed",
        mode=context.effective_mode.value,
        quorum=verdict.quorum,
        duties=digest(duties),
        rules=rules,
        result=_result(decided, decision),
    )


def _result(decided: Decided, decision: RecordedDecision) -> str:
    """What the manifest makes of the answer that came then."""
    output = decision.newest("output")
    if output is None or decision.last["status"] != DecisionStatus.EXECUTED:
        return ""
    capability = decided.context.capability
    if not decision.last["redactions"] and not capability.output_validator.is_valid(output.value):
        return "refused by the output schema"
    declared = capability.declaration.get("evidence_keys") or []
    missing = [key for key in declared if not has_evidence(output.value, key)]
    return f"accepted without {', '.join(missing)}" if missing else "accepted"


def change_between(before: Stand, after: Stand) -> str | None:
    """What kind of change it is, in a few words; None = nobody would have noticed."""
    if before.verdict != after.verdict:
        return f"{before.verdict} → {after.verdict}"
    if before.mode != after.mode:
        return f"mode {before.mode} → {after.mode}"
    if before.quorum != after.quorum:
        return f"people needed {before.quorum or 1} → {after.quorum or 1}"
    if before.duties != after.duties:
        return f"{after.verdict} as before, on other terms"
    if before.result != after.result:
        return f"answer {before.result} → {after.result}"
    if before.rules != after.rules:
        return "the same outcome by other rules"
    return None


@dataclass(frozen=True, slots=True)
class Trial:
    """One decision under both; `change` is None where nothing would have been different."""

    before: Stand
    after: Stand
    change: str | None


@dataclass(frozen=True, slots=True)
class Trials:
    """Tries decisions under what was in force then, and under a draft."""

    recorded: Surroundings
    drafted: Surroundings

    def of(self, decision: RecordedDecision) -> Trial | None:
        """None where the decision can't be taken again: erased, or tampered with."""
        findings = Findings()
        try:
            before = self._as_it_was(decision, findings)
            after = self._stand(decision, self.drafted, findings)
        except NotReplayable:
            return None
        if before is None or after is None:
            return None
        return Trial(before, after, change_between(before, after))

    def _as_it_was(self, decision: RecordedDecision, findings: Findings) -> Stand | None:
        """One decision that can't even be read keeps no other of the period from being tried."""
        try:
            check_rows(decision, findings)
            check_values(decision, findings)
            return self._stand(decision, self.recorded, findings)
        except UNREADABLE as fault:
            raise NotReplayable from fault

    def _stand(
        self, decision: RecordedDecision, surroundings: Surroundings, findings: Findings
    ) -> Stand | None:
        terms = terms_of(decision)
        if terms is None or terms.bundles is None:
            return None
        compiled = surroundings.compiled(terms, findings)
        kept = decision.newest("inputs")
        context = opened_context(decision, terms, compiled)
        stamp = Stamp(None, None, "unhashed")  # nobody compares it here
        return stand_of(
            steps_again(context, kept.value if kept is not None else None, stamp), decision
        )


@dataclass(slots=True)
class TrialTally:
    """What a draft would have changed in a period: counts by kind of change, and examples."""

    total: int = 0
    left_out: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """How many decisions would have been different."""
        return sum(self.changes.values())

    def add(self, decision: RecordedDecision, trial: Trial | None) -> None:
        """Count one decision."""
        self.total += 1
        if trial is None:
            self.left_out += 1
        elif trial.change is not None:
            known = trial.change in self.changes or len(self.changes) < MOST_KINDS
            self._changed(decision, trial, trial.change if known else REST)

    def _changed(self, decision: RecordedDecision, trial: Trial, kind: str) -> None:
        self.changes[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < EXAMPLES_OF_A_KIND:
            examples.append(
                {
                    "decision_id": decision.decision_id,
                    "tool_call_id": decision.call.pk if decision.call else "",
                    "at": decision.first["created_at"],
                    "capability_id": decision.first["capability"]["id"],
                    "agent_id": decision.rows[0].derived.get("agent_id", ""),
                    "before": trial.before.as_dict(),
                    "after": trial.after.as_dict(),
                }
            )

    def as_dict(self) -> dict[str, Any]:
        """The tally as JSON."""
        return {
            "total": self.total,
            "left_out": self.left_out,
            "changed": self.changed,
            "changes": dict(self.changes.most_common()),
            "examples": self.examples,
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> TrialTally:
        """A tally that is gone on with."""
        return cls(
            total=said.get("total", 0),
            left_out=said.get("left_out", 0),
            changes=Counter(said.get("changes") or {}),
            examples={name: list(kept) for name, kept in (said.get("examples") or {}).items()},
        )
