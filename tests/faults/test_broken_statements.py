"""A failure at every single statement of accepting and of working: what holds, holds after each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from audit.models import LogLeaf, UnsealedLeaf
from gateway.connectors.function.connector import runner_pool
from gateway.models import IdempotencyKey, Run, ToolCall
from gateway.states import CallState
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.faults.breaking import Break, Way, broken
from tests.faults.invariants import check_invariants
from tests.faults.ledger_file import open_ledger
from tests.faults.ledger_functions import LEDGER_VARIABLE
from tests.faults.ledger_manifests import POST, POST_BLINDLY, READ, ledger, ledger_pack
from tests.faults.store import Ledger, Store
from tests.gateway.world import GatewayWorld
from tests.registry.walks import pack_walk

pytestmark = pytest.mark.django_db(transaction=True)
CALLS = "/api/v1/tool-calls"
UNDER_WAY = (CallState.QUEUED, CallState.EXECUTING)
MOST_STATEMENTS = 60  # far above what a call needs; the loop ends with the first that needs less


class Workshop:
    """One tenant, the ledger's functions in a real runner, and time that can be made to pass."""

    def __init__(self, ledger_file: Path) -> None:
        self.world, self.ledger = GatewayWorld(), Ledger(ledger_file)
        self.world.house.published(ledger())
        pack_walk(self.world.house).published(ledger_pack())
        self._made = 0
        self._runs: dict[Way, str] = {}

    def run_for(self, fault: Break) -> str:
        """One run for each way to break, so that no budget ends before the statements do."""
        if fault.way not in self._runs:
            self._runs[fault.way] = str(self.world.open_run()["run_id"])
        return self._runs[fault.way]

    def propose(self, capability: str, key: str, run_id: str) -> Any:
        body = {"run_id": run_id, "capability_id": capability, "args": {"text": "quick"}}
        return self.world.post(CALLS, {**body, "idempotency_key": key})

    def new_key(self) -> str:
        self._made += 1
        return f"broken-{self._made}"

    def let_time_pass(self) -> None:
        """Leases run out, the sweep looks, workers work, until nothing is under way."""
        while open_calls := list(ToolCall.objects.filter(state__in=UNDER_WAY)):
            past = timezone.now() - timedelta(seconds=1)
            ToolCall.objects.filter(state=CallState.EXECUTING).update(lease_until=past)
            sweep_calls()
            for call in open_calls:
                work_on(call.pk)

    def check(self) -> None:
        check_invariants(_store(), self.ledger)


def _store() -> Store:
    """The test database, seen by somebody else."""
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return Store(f"sqlite:///{told['NAME']}")
    place = f"{told['HOST']}:{told['PORT']}/{told['NAME']}"
    return Store(f"postgresql://{told['USER']}:{told['PASSWORD']}@{place}")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    runner_pool.cache_clear()
    os.environ[LEDGER_VARIABLE] = str(tmp_path / "ledger.sqlite3")
    told = {
        "CONTEXTOS_FUNCTION_MODULES": ("tests.faults.ledger_functions",),
        "FUNCTION_ENVIRONMENT": (*settings.FUNCTION_ENVIRONMENT, LEDGER_VARIABLE),
        "FUNCTION_RUNNERS": 1,
        "CELERY_BROKER_URL": None,
    }
    with override_settings(**told):
        yield Workshop(tmp_path / "ledger.sqlite3")
        runner_pool().close()
    runner_pool.cache_clear()
    del os.environ[LEDGER_VARIABLE]


def _faults() -> Iterator[Break]:
    """In every way, at one statement after the other, until one comes too late to break it."""
    for way in Way:
        fault = Break(1, way)
        while fault.number < MOST_STATEMENTS:
            yield fault
            if not fault.happened:
                break
            fault = Break(fault.number + 1, way)
        assert 3 < fault.number < MOST_STATEMENTS, fault


@pytest.mark.proves("C9", "E1")
@pytest.mark.parametrize("capability", [READ, POST, POST_BLINDLY])
def test_a_proposal_that_breaks_anywhere_is_found_again_by_its_key(
    workshop: Workshop, capability: str
) -> None:
    for fault in _faults():
        run_id, key, told = workshop.run_for(fault), workshop.new_key(), None
        with broken(fault):
            told = workshop.propose(capability, key, run_id)
        again = workshop.propose(capability, key, run_id)
        workshop.let_time_pass()
        last = workshop.propose(capability, key, run_id)
        assert again.status_code in (200, 202, 409), (fault, again.content)
        assert last.json()["status"] == "ok", (fault, last.content)
        named = {answer.json()["tool_call_id"] for answer in (told, again, last) if answer}
        assert len(named - {None}) == 1, (fault, named)
    workshop.check()


@pytest.mark.proves("C9", "C12", "E1")
@pytest.mark.parametrize("capability", [POST, POST_BLINDLY])
def test_a_worker_that_breaks_anywhere_doubles_nothing(workshop: Workshop, capability: str) -> None:
    ends = set()
    for fault in _faults():
        run_id, key = workshop.run_for(fault), workshop.new_key()
        accepted = workshop.propose(capability, key, run_id).json()["tool_call_id"]
        with broken(fault):
            work_on(accepted)
        workshop.let_time_pass()
        last = workshop.propose(capability, key, run_id).json()
        assert last["tool_call_id"] == accepted
        ends.add(last["status"])
    workshop.check()
    assert ends == ({"ok"} if capability == POST else {"ok", "unknown_outcome"}), ends


@pytest.mark.proves("C1", "E1")
def test_a_read_from_memory_that_breaks_anywhere_is_answered_or_named(workshop: Workshop) -> None:
    """Claim and end are all the statements it makes; whichever fails, nothing is left under way."""
    body = {"capability_id": READ, "args": {"text": "quick"}}
    for way in Way:
        run_id = workshop.run_for(Break(1, way))
        for _ in range(3):
            assert workshop.world.post(CALLS, {**body, "run_id": run_id}).status_code == 200
        fault = Break(1, way)
        while fault.number < MOST_STATEMENTS:
            told = None
            with broken(fault):
                told = workshop.world.post(CALLS, {**body, "run_id": run_id})
            assert told is None or told.status_code in (200, 503), (fault, told.content)
            workshop.let_time_pass()
            assert workshop.world.post(CALLS, {**body, "run_id": run_id}).status_code == 200
            if not fault.happened:
                break
            fault = Break(fault.number + 1, way)
        least = 2 if connection.vendor == "postgresql" else 10
        assert least < fault.number < MOST_STATEMENTS, fault
    workshop.check()


def _booked_twice(workshop: Workshop, call: ToolCall) -> None:
    with closing(open_ledger(workshop.ledger.path)) as book:
        book.execute("INSERT INTO effects SELECT * FROM effects LIMIT 1")


def _booked_before_the_record(workshop: Workshop, call: ToolCall) -> None:
    with closing(open_ledger(workshop.ledger.path)) as book:
        book.execute("UPDATE effects SET at = at - 3600")


def _left_executing(workshop: Workshop, call: ToolCall) -> None:
    ToolCall.objects.filter(pk=call.pk).update(state=CallState.EXECUTING)


def _said_to_have_failed(workshop: Workshop, call: ToolCall) -> None:
    ToolCall.objects.filter(pk=call.pk).update(state=CallState.FAILED)


def _reserved_for_ever(workshop: Workshop, call: ToolCall) -> None:
    Run.objects.filter(pk=call.run_id).update(reserved_cents=5)


def _key_lost(workshop: Workshop, call: ToolCall) -> None:
    IdempotencyKey.objects.filter(tool_call_id=call.pk).update(tool_call_id="tool_nowhere")


def _leaf_lost(workshop: Workshop, call: ToolCall) -> None:
    UnsealedLeaf.objects.filter(tenant_id=call.tenant_id).order_by("leaf_id")[0].delete()


def _leaf_sealed_twice(workshop: Workshop, call: ToolCall) -> None:
    leaf = UnsealedLeaf.objects.filter(tenant_id=call.tenant_id).order_by("leaf_id")[0]
    LogLeaf.objects.create(
        leaf_id=leaf.leaf_id, tenant_id=leaf.tenant_id, log_index=0, leaf_hash=leaf.leaf_hash
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (_booked_twice, "happened 2 times"),
        (_booked_before_the_record, "without an earlier record"),
        (_left_executing, "is still executing"),
        (_said_to_have_failed, "the ledger says otherwise"),
        (_reserved_for_ever, "its calls say"),
        (_key_lost, "keys name tool_nowhere"),
        (_leaf_lost, "is 0 times in the log"),
        (_leaf_sealed_twice, "is 2 times in the log"),
    ],
)
def test_the_check_itself_sees_what_is_wrong(
    workshop: Workshop, wrong: Callable[[Workshop, ToolCall], None], sentence: str
) -> None:
    run_id = str(workshop.world.open_run()["run_id"])
    accepted = workshop.propose(POST_BLINDLY, workshop.new_key(), run_id).json()["tool_call_id"]
    workshop.let_time_pass()
    workshop.check()
    wrong(workshop, ToolCall.objects.get(pk=accepted))
    with pytest.raises(AssertionError, match=sentence):
        workshop.check()
