"""SIGKILL at every durable step of a call's life, before and after it: what holds, holds."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import pytest

from tests.faults.crash_points import Moment, Point, arm
from tests.faults.deeds import Deed
from tests.faults.invariants import check_invariants
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ, WIPE
from tests.faults.plant import Plant, wait_until
from tests.faults.results import RECOVERY_SECONDS, Results

LONG = bool(os.environ.get("CONTEXTOS_FAULTS_LONG"))
ACCEPT = r'^WITH "claim" AS'
LEASE = r'^UPDATE "gateway_toolcall" SET .*"attempts" = '
END = r'^WITH "call" AS \(UPDATE "gateway_toolcall" .*"audit_decisionrow"'
REQUEUE = r'^WITH "call" AS \(UPDATE "gateway_toolcall" .*"losses" = "losses"'
VOTE = r'^INSERT INTO "approvals_vote"'
RESUME = r'^WITH "approval" AS'
TAKE = r"^DELETE FROM audit_unsealedleaf"
CHECKPOINT = r'^INSERT INTO "audit_checkpoint"'
MID_CALL = ""  # nothing is armed: see `die before` and `die after` of the ledger
BEFORE, AFTER = Moment.BEFORE, Moment.AFTER


@dataclass(frozen=True, slots=True)
class Crash:
    """Where a process dies over which deed, and how the deed may end."""

    point: Point
    capability: str
    ends: str
    effects: int
    text: str = "quick"
    verdict: str = "approve"
    long: bool = False  # only in the long form: another point of the short one ends the same way

    def __str__(self) -> str:
        return f"{self.point} ({self.capability})"


def _web(step: str, statement: str, moment: Moment) -> Point:
    return Point(step, "web", statement, moment)


def _worker(step: str, statement: str, moment: Moment) -> Point:
    return Point(step, "worker", statement, moment)


def _sealer(step: str, statement: str, moment: Moment) -> Point:
    return Point(step, "sealer", statement, moment)


CALLS = "/api/v1/tool-calls"
CRASHES = (
    # accept: claim, call and records in one statement
    Crash(_web("accept", ACCEPT, BEFORE), POST_BLINDLY, "ok", 1),
    Crash(_web("accept", ACCEPT, AFTER), POST_BLINDLY, "ok", 1),
    Crash(_web("accept", CALLS, Moment.ANSWERING), POST_BLINDLY, "ok", 1),
    Crash(_web("accept", ACCEPT, AFTER), READ, "ok", 1, long=True),
    # a quick read, ended by the web process itself
    Crash(_web("end", END, BEFORE), READ, "ok", 2),
    Crash(_web("end", END, AFTER), READ, "ok", 1, long=True),
    # the gate: a paused call, votes, the one use of an approval
    Crash(_web("gate", ACCEPT, BEFORE), WIPE, "ok", 1, long=True),
    Crash(_web("gate", ACCEPT, AFTER), WIPE, "ok", 1, long=True),
    Crash(_web("vote", VOTE, Moment.BEFORE_COMMIT), WIPE, "ok", 1),
    Crash(_web("vote", VOTE, Moment.AFTER_COMMIT), WIPE, "ok", 1, long=True),
    Crash(_web("resume", RESUME, BEFORE), WIPE, "ok", 1, long=True),
    Crash(_web("resume", RESUME, AFTER), WIPE, "ok", 1),
    Crash(_web("refusal", END, BEFORE), WIPE, "rejected", 0, verdict="reject", long=True),
    Crash(_web("refusal", END, AFTER), WIPE, "rejected", 0, verdict="reject", long=True),
    # the lease: the intent to attempt, committed before any effect
    Crash(_worker("lease", LEASE, BEFORE), POST_BLINDLY, "ok", 1),
    Crash(_worker("lease", LEASE, AFTER), POST_BLINDLY, "unknown_outcome", 0),
    Crash(_worker("lease", LEASE, AFTER), POST, "ok", 1, long=True),
    Crash(_worker("lease", LEASE, AFTER), WIPE, "unknown_outcome", 0, long=True),
    # in mid-call: the function kills whoever waits for its answer
    Crash(
        _worker("effect", MID_CALL, BEFORE),
        POST_BLINDLY,
        "unknown_outcome",
        0,
        "die before",
        long=True,
    ),
    Crash(_worker("effect", MID_CALL, AFTER), POST_BLINDLY, "unknown_outcome", 1, "die after"),
    Crash(_worker("effect", MID_CALL, AFTER), POST, "ok", 1, "die after", long=True),
    # what the sweep does about an attempt that was lost
    Crash(_worker("requeue", REQUEUE, BEFORE), POST, "ok", 1, "dawdle", long=True),
    Crash(_worker("requeue", REQUEUE, AFTER), POST, "ok", 1, "dawdle", long=True),
    # the end: state, record, output and budget in one statement
    Crash(_worker("end", END, BEFORE), POST, "ok", 1, long=True),
    Crash(_worker("end", END, BEFORE), POST_BLINDLY, "unknown_outcome", 1, long=True),
    Crash(_worker("end", END, BEFORE), WIPE, "unknown_outcome", 1, long=True),
    Crash(_worker("end", END, AFTER), POST_BLINDLY, "ok", 1),
    # the seal: leaves leave the queue, the tree grows, a checkpoint is signed, in one transaction
    Crash(_sealer("take", TAKE, BEFORE), READ, "ok", 1, long=True),
    Crash(_sealer("take", TAKE, AFTER), READ, "ok", 1),
    Crash(_sealer("checkpoint", CHECKPOINT, Moment.BEFORE_COMMIT), READ, "ok", 1),
    Crash(_sealer("checkpoint", CHECKPOINT, Moment.AFTER_COMMIT), READ, "ok", 1),
)


@pytest.mark.proves("C9", "C12", "D3", "E1", "E2")
@pytest.mark.parametrize("crash", [c for c in CRASHES if LONG or not c.long], ids=str)
def test_a_process_that_dies_at_a_durable_step_loses_nothing_and_doubles_nothing(
    plant: Plant, results: Results, crash: Crash
) -> None:
    deed = Deed(
        plant, crash.capability, f"crash-{crash}"[:200], text=crash.text, verdict=crash.verdict
    )
    deed.begin()
    plant.sealed()
    role = crash.point.role
    with results.of(f"`kill -9` of {role} at a labelled point", plant) as row:
        if crash.point.statement:
            arm(plant.armed, crash.point)
        deed.propose()
        if crash.capability == WIPE and plant.armed.exists():
            deed.vote()
        wait_until(lambda: not plant.armed.exists(), f"somebody dies at {crash}", seconds=20)
        plant.revive(role)
        back = time.monotonic()
        tool_call_id = deed.go_on()
        plant.settled(seconds=RECOVERY_SECONDS)
        plant.sealed()
        row.settled_since(back)
        assert plant.store.states(tool_call_id) == [crash.ends]
        assert len(plant.ledger.of(tool_call_id)) == crash.effects
        check_invariants(plant.store, plant.ledger, answered={deed.key: tool_call_id})
