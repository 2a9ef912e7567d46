"""The storm: many callers, many repeats, and workers that are killed all the time."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from tests.faults.caller import CALLS, Answer, Caller, Unanswered
from tests.faults.invariants import ENDS
from tests.faults.ledger_manifests import (
    POST,
    POST_BLINDLY,
    POST_BLINDLY_SOON,
    POST_SOON,
    READ,
    REPORT,
)
from tests.faults.plant import SEALERS, Plant

CALLS_PER_RUN = 150  # below the run's own budget of 200
REPEATED = 0.25  # of all calls
STALLED_EVERY, CANCELLED_EVERY = 6, 20  # of the new ones: an eighth and a twenty-fifth of all
CROWDED = 200  # so many calls under way: callers read and repeat until the workers catch up
STALLING = (POST_SOON, POST_BLINDLY_SOON)
# Out of ten new calls.
MIXTURE = (READ, READ, READ, READ, POST, POST, POST_BLINDLY, POST_BLINDLY, POST, REPORT)


@dataclass(frozen=True, slots=True)
class Wish:
    """One call somebody wants to make, perhaps again."""

    run_id: str
    capability_id: str
    key: str
    text: str = "quick"
    changes_its_mind: bool = False


@dataclass(slots=True)
class Tally:
    """What the callers saw."""

    sent: int = 0
    repeats: int = 0
    stalls: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    unanswered: int = 0
    kills: int = 0
    answered: dict[str, str] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)  # what was told of each end
    cancelled: set[str] = field(default_factory=set)
    contradictions: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, wish: Wish, answer: Answer) -> None:
        """The same key must never be told another id, nor of another end."""
        self.statuses[answer.status] += 1
        tool_call_id = answer.body["tool_call_id"]
        if tool_call_id is None:
            return
        first = self.answered.setdefault(wish.key, tool_call_id)
        if first != tool_call_id:
            self.contradictions.append(f"{wish.key}: {first} and {tool_call_id}")
        self.note_end(tool_call_id, str(answer.body["status"]))

    def note_end(self, tool_call_id: str, status: str) -> None:
        """What ended once has ended so for good."""
        if status in ENDS and self.ended.setdefault(tool_call_id, status) != status:
            self.contradictions.append(f"{tool_call_id}: {self.ended[tool_call_id]} and {status}")


class Storm:
    """Callers in threads draw wishes from one bag until it is empty or the time is up."""

    def __init__(
        self, plant: Plant, *, calls: int, kills: int, seconds: float, threads: int
    ) -> None:
        self._plant, self._calls, self._kills, self._threads = plant, calls, kills, threads
        self._until = time.monotonic() + seconds
        self._chance = random.Random(20261116)
        self._lock = threading.Lock()
        self._made: list[Wish] = []
        self._run_id = ""
        self._under_way = 0
        self.tally = Tally()

    def rage(self) -> Tally:
        """Call and kill until the end; workers die on while they work off what was called."""
        started, over = time.monotonic(), threading.Event()
        killer = threading.Thread(target=self._kill_now_and_then, args=[over])
        watcher = threading.Thread(target=self._watch, args=[over])
        callers = [threading.Thread(target=self._call_on) for _ in range(self._threads)]
        for thread in (*callers, killer, watcher):
            thread.start()
        for thread in callers:
            thread.join()
        over.set()
        killer.join()
        watcher.join()
        self.tally.seconds = time.monotonic() - started
        return self.tally

    def _call_on(self) -> None:
        caller = self._plant.caller
        while (wish := self._drawn(caller)) is not None:
            try:
                answer = caller.call(wish.run_id, wish.capability_id, wish.text, key=wish.key)
            except Unanswered:
                with self._lock:
                    self.tally.unanswered += 1
                continue
            with self._lock:
                self.tally.note(wish, answer)
            if wish.changes_its_mind and answer.status == 202:
                self._cancel(caller, str(answer.body["tool_call_id"]))

    def _cancel(self, caller: Caller, tool_call_id: str) -> None:
        """While workers are about to take it; whoever is told that it is off may rely on it."""
        with suppress(Unanswered):
            asked = {"reason": "Not wanted any more."}
            answer = caller.post(f"{CALLS}/{tool_call_id}/cancel", asked)
            if answer.status == 200 and answer.body["status"] == "cancelled":
                with self._lock:
                    self.tally.cancelled.add(tool_call_id)
                    self.tally.note_end(tool_call_id, "cancelled")

    def _drawn(self, caller: Caller) -> Wish | None:
        """A new wish, or one that somebody had already; None when the storm is over."""
        with self._lock:
            if self.tally.sent >= self._calls or time.monotonic() > self._until:
                return None
            self.tally.sent += 1
            if self._made and self._chance.random() < REPEATED:
                self.tally.repeats += 1
                return self._chance.choice(self._made[-400:])
            if len(self._made) % CALLS_PER_RUN == 0:
                self._run_id = caller.open_run()
            self._made.append(self._new_wish(f"storm-{len(self._made)}"))
            return self._made[-1]

    def _new_wish(self, key: str) -> Wish:
        """Some stall: they are done, but nobody hears of it in time. Some are called off again."""
        number = len(self._made)
        if number % STALLED_EVERY == 0:
            self.tally.stalls += 1
            return Wish(self._run_id, self._chance.choice(STALLING), key, "dawdle")
        if number % CANCELLED_EVERY == 1:
            return Wish(self._run_id, POST_BLINDLY, key, changes_its_mind=True)
        crowded = self._under_way > CROWDED
        return Wish(self._run_id, READ if crowded else self._chance.choice(MIXTURE), key)

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(0.5):
            self._under_way = self._plant.store.under_way()

    def _kill_now_and_then(self, over: threading.Event) -> None:
        """A worker's child, then the whole worker, and again; each time a sealer as well."""
        while not over.is_set() or self.tally.kills < self._kills:
            time.sleep(self._chance.uniform(3, 6))
            self.tally.kills += 1
            sealer = self._chance.choice(SEALERS)
            self._plant.kill(sealer)
            self._plant.start_sealer(sealer)
            if self.tally.kills % 3:
                self._plant.kill_one_child("worker")
            else:
                self._plant.kill("worker")
                self._plant.start_worker()
