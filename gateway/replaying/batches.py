"""Replays a whole period and counts what came out; examples instead of everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from audit.services import record_event
from contextos.core.events import Actor
from gateway.replaying.engine import replay_decision
from gateway.replaying.findings import Diff, ReplayResult, ReplayStatus
from gateway.replaying.loading import recorded_decisions
from gateway.replaying.periods import Period, decisions_in
from gateway.replaying.recorded import RecordedDecision
from gateway.replaying.surroundings import Draft, Surroundings
from gateway.replaying.trials import Trials, TrialTally
from registry.recorded_documents import RecordedDocuments

MOST_EXAMPLES = 100
MOST_DIFFS = 20


@dataclass(slots=True)
class ReplayTally:
    """What the replays of a period came to."""

    total: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    by_type: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def add(self, decision: RecordedDecision, result: ReplayResult) -> None:
        """Count one replay; keep it as an example if it is not equal and there is room."""
        self.total += 1
        self.by_status[result.status.value] += 1
        self.by_type.update({diff.type.value for diff in result.diffs})
        self.taken.update(result.taken)
        if result.status is not ReplayStatus.EQUAL and len(self.examples) < MOST_EXAMPLES:
            self.examples.append(
                {
                    "decision_id": decision.decision_id,
                    "capability_id": (decision.first.get("capability") or {}).get("id"),
                    "at": decision.first.get("created_at"),
                    "status": result.status.value,
                    "diffs": [_outline(diff) for diff in result.diffs[:MOST_DIFFS]],
                }
            )

    @property
    def all_equal(self) -> bool:
        """Whether every decision came out as it is recorded."""
        return self.by_status[ReplayStatus.EQUAL.value] == self.total

    def as_dict(self) -> dict[str, Any]:
        """The tally as JSON."""
        return {
            "total": self.total,
            "by_status": {status.value: self.by_status[status.value] for status in ReplayStatus},
            "by_type": dict(sorted(self.by_type.items())),
            "taken_from_record": dict(self.taken.most_common()),
            "examples": self.examples,
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> ReplayTally:
        """A tally that is gone on with."""
        return cls(
            total=said.get("total", 0),
            by_status=Counter(said.get("by_status") or {}),
            by_type=Counter(said.get("by_type") or {}),
            taken=Counter(said.get("taken_from_record") or {}),
            examples=list(said.get("examples") or []),
        )


def _outline(diff: Diff) -> dict[str, Any]:
    """Where and what, without either side: tallies are kept, and values may have to be erased."""
    return {"type": diff.type.value, "path": diff.path, "message": diff.message}


AnyTally = ReplayTally | TrialTally


class Worker(Protocol):
    """What is done with each decision of a period."""

    def __call__(self, decision: RecordedDecision) -> None:
        """Look at one decision and count it."""


def counting(tenant_id: str, draft: Draft | None, tally: AnyTally) -> Worker:
    """Replays where there is no draft; tries the draft where there is one."""
    documents = RecordedDocuments(tenant_id)
    recorded = Surroundings(documents)
    if isinstance(tally, ReplayTally):
        return lambda decision: tally.add(decision, replay_decision(decision, recorded))
    trials = Trials(recorded, Surroundings(documents, draft))
    return lambda decision: tally.add(decision, trials.of(decision))


Progress = Callable[[int, float], None]


def replay_period(
    *,
    tenant_id: str,
    period: Period,
    actor: Actor,
    draft: Draft | None = None,
    progress: Progress | None = None,
) -> AnyTally:
    """Go through every decision of a period; one event tells that it was done."""
    tally: AnyTally = ReplayTally() if draft is None else TrialTally()
    count = counting(tenant_id, draft, tally)
    for page in decisions_in(tenant_id, period):
        names = [head.decision_id for head in page]
        for decision in recorded_decisions(tenant_id=tenant_id, decision_ids=names):
            count(decision)
        if progress is not None:
            progress(tally.total, period.share(page[-1].created_at))
    tell(
        tenant_id=tenant_id, actor=actor, period=period, tally=tally, ref=draft.ref if draft else ""
    )
    return tally


def tell(
    *, tenant_id: str, actor: Actor, period: Period, tally: AnyTally, ref: str, **more: Any
) -> None:
    """The one event that a replay of a period leaves: the counts without the examples."""
    counts = {name: value for name, value in tally.as_dict().items() if name != "examples"}
    record_event(
        tenant_id=tenant_id,
        action="decision.period_replayed",
        actor=actor,
        subject_kind="tenant",
        subject_id=tenant_id,
        data={"period": period.words, "against": ref or "the record", **more, **counts},
    )
