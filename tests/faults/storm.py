"""The storm: many callers, many repeats, and workers that are killed all the time."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.faults.caller import Caller, Unanswered
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
REPEATED, STALLED = 0.25, 0.15  # of all calls, and of the new ones among them
# Out of ten new calls.
CROWDED = 200  # so many calls under way: callers read and repeat until the workers catch up
STALLING = (POST_SOON, POST_BLINDLY_SOON)
MIXTURE = (READ, READ, READ, READ, POST, POST, POST_BLINDLY, POST_BLINDLY, POST, REPORT)


@dataclass(frozen=True, slots=True)
class Wish:
    """One call somebody wants to make, perhaps again."""

    run_id: str
    capability_id: str
    key: str
    text: str = "quick"


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
    contradictions: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, wish: Wish, status: int, tool_call_id: str | None) -> None:
        """An answer; the same key must never be told another id."""
        self.statuses[status] += 1
        if tool_call_id is None:
            return
        first = self.answered.setdefault(wish.key, tool_call_id)
        if first != tool_call_id:
            self.contradictions.append(f"{wish.key}: {first} and {tool_call_id}")


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
                self.tally.note(wish, answer.status, answer.body["tool_call_id"])

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
        """One in seven stalls: it is done, but nobody hears of it in time."""
        if self._chance.random() < STALLED:
            self.tally.stalls += 1
            return Wish(self._run_id, self._chance.choice(STALLING), key, "dawdle")
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
