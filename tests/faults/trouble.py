"""Calls before, during and after a trouble: what was refused did not happen, what was taken did."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from tests.faults.caller import Answer, Unanswered
from tests.faults.invariants import Findings, check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ
from tests.faults.plant import Plant, wait_until
from tests.faults.results import RECOVERY_SECONDS, Row

UNAVAILABLE = ("record.unavailable", "service.unavailable")


@dataclass(slots=True)
class Trouble:
    """One run of calls around one fault; its name begins every key."""

    plant: Plant
    name: str
    run_id: str = ""
    taken: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)  # key to capability
    codes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.run_id = self.plant.caller.open_run()

    def begin_writes(self, *, text: str = "pause 1") -> None:
        """One write of each kind, in the middle of its attempt when this returns."""
        for capability in (POST, POST_BLINDLY):
            assert self.propose(capability, f"{self.name}-begun-{capability}", text) == 202
        ids = list(self.taken.values())
        wait_until(lambda: len(self.plant.ledger.of(*ids)) == 2, "both have begun", seconds=30)

    def propose(self, capability: str, key: str, text: str = "quick") -> int:
        """One call, its answer noted; 0 when nobody answered."""
        started = time.monotonic()
        try:
            answer = self.plant.caller.call(self.run_id, capability, text, key=key)
        except Unanswered:
            self.refused[key] = capability
            return 0
        finally:
            self.slowest = max(self.slowest, time.monotonic() - started)
        self._note(capability, key, answer)
        return answer.status

    def try_all(self, number: int, *, tag: str) -> set[int]:
        """Reads and writes in turn; the statuses they met."""
        kinds = (READ, POST, POST_BLINDLY)
        return {self.propose(kinds[n % 3], f"{self.name}-{tag}-{n}") for n in range(number)}

    def happened(self) -> set[str]:
        """Of the refused ones, those that the ledger has all the same."""
        return {effect.key for effect in self.plant.ledger.effects() if effect.key} & {
            *self.refused
        }

    def recover(self, row: Row) -> Findings:
        """From now on it has half a minute until work is taken, ended and sealed again."""
        started = time.monotonic()
        wait_until(self._takes_work, "calls are taken again", seconds=RECOVERY_SECONDS)
        for key, capability in list(self.refused.items()):
            assert self.propose(capability, key) in (200, 202, 409), key
        self.plant.settled(seconds=RECOVERY_SECONDS)
        self.plant.sealed(seconds=RECOVERY_SECONDS)
        row.settled_since(started)
        return check_invariants(self.plant.store, self.plant.ledger, answered=self.taken)

    def _takes_work(self) -> bool:
        return self.propose(POST, f"{self.name}-again") in (200, 202)

    def _note(self, capability: str, key: str, answer: Answer) -> None:
        if answer.status in (200, 202):
            assert answer.body["tool_call_id"], answer
            self.taken[key] = str(answer.body["tool_call_id"])
            self.refused.pop(key, None)
            return
        self.refused[key] = capability
        self.codes[str((answer.body.get("error") or {}).get("code"))] += 1
