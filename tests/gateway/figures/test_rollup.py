"""The roll-up counts every row once: twice run, two at once, late rows, after a crash (E5)."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from audit.decision_record import DecisionStatus
from audit.decisions import record_decision
from audit.models import LogLeaf
from gateway.figures import rollup
from gateway.figures.boards import board, totals_of_all_time
from gateway.figures.rollup import forget_fine_spans, roll_step, roll_up
from gateway.figures.spans import GRAINS, range_of
from gateway.models import FiguresCursor, Tally
from tests.audit.logs import facts, seal_all
from tests.factories import make_tenant

pytestmark = pytest.mark.django_db(transaction=True)
TENANT = "tenant_counted"


@pytest.fixture(autouse=True)
def tenant(transactional_db: None) -> str:
    return str(make_tenant(TENANT).pk)


def _record(number: int, **more: Any) -> None:
    for _ in range(number):
        record_decision(facts(TENANT, **{"created_at": timezone.now(), **more}))


def _executed() -> int:
    now = timezone.now()
    return board(TENANT, range_of(now - timedelta(days=1), now, now=now)).totals["executed"]


def _rolled() -> int:
    return sum(line.sums["executed"] for line in totals_of_all_time().get(TENANT, []))


@pytest.mark.proves("E5")
def test_rolling_up_twice_counts_once() -> None:
    _record(5)
    seal_all()
    roll_up()
    roll_up()
    assert (_rolled(), _executed()) == (5, 5)
    assert (
        FiguresCursor.objects.get().next_index == LogLeaf.objects.filter(tenant_id=TENANT).count()
    )


def test_rows_that_are_not_sealed_yet_are_shown_and_counted_later() -> None:
    _record(2)
    assert (_rolled(), _executed()) == (0, 2)
    seal_all()
    assert (_rolled(), _executed()) == (0, 2)
    roll_up()
    _record(1)
    assert (_rolled(), _executed()) == (2, 3)


def test_a_row_that_was_written_earlier_and_committed_later_is_counted() -> None:
    _record(1)
    seal_all()
    roll_up()
    _record(1, created_at=timezone.now() - timedelta(hours=2))
    seal_all()
    roll_up()
    assert (_rolled(), _executed()) == (2, 2)


def test_every_length_of_span_holds_the_same_counts() -> None:
    _record(3)
    _record(2, status=DecisionStatus.REJECTED, repeat_count=7)
    seal_all()
    roll_up()
    for grain in (0, *(each.seconds for each in GRAINS)):
        every = Tally.objects.filter(grain=grain)
        rows, together = every.exclude(adapter_id="*"), every.filter(adapter_id="*")
        assert sum(rows.values_list("value", flat=True)) == sum(
            together.values_list("value", flat=True)
        )
        sums = {
            m: sum(rows.filter(measure=m).values_list("value", flat=True))
            for m in ("executed", "rejected")
        }
        assert sums == {"executed": 3, "rejected": 14}


def test_a_step_that_fails_leaves_its_rows_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    _record(4)
    seal_all()
    with monkeypatch.context() as broken:
        broken.setattr(rollup, "tell_of_differences", _fails)
        with pytest.raises(OSError, match="gone"):
            roll_step(TENANT)
    assert _rolled() == 0
    roll_up()
    assert (_rolled(), _executed()) == (4, 4)


def _fails(*_: Any) -> None:
    raise OSError("gone")


def test_short_spans_are_forgotten_and_long_ones_keep_the_counts() -> None:
    _record(2, created_at=timezone.now() - timedelta(days=5))
    seal_all()
    roll_up()
    before = Tally.objects.count()
    assert forget_fine_spans(timezone.now()) > 0
    assert Tally.objects.count() < before
    now = timezone.now()
    month = range_of(now - timedelta(days=30), now, now=now)
    assert board(TENANT, month).totals["executed"] == 2


def test_names_that_agents_invent_make_no_rows_of_their_own() -> None:
    from audit.decision_record import CapabilityFacts, LineageFacts

    for number in range(20):
        _record(
            1,
            status=DecisionStatus.REJECTED,
            capability=CapabilityFacts(id=f"invented.{number}"),
            lineage=LineageFacts(),
        )
    seal_all()
    roll_up()
    named = Tally.objects.exclude(adapter_id="*")
    assert set(named.values_list("capability_id", "adapter_id")) == {("", "")}


@pytest.mark.proves("E5")
def test_two_processes_at_once_count_every_row_once() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite lets one write at a time anyway")
    _record(60)
    seal_all()
    started, failures = threading.Barrier(3), []

    def _roll() -> None:
        try:
            started.wait()
            for _ in range(40):
                roll_step(TENANT)
        except Exception as fault:  # noqa: BLE001  told by the test
            failures.append(fault)
        finally:
            connection.close()

    monkey = pytest.MonkeyPatch()
    monkey.setattr(rollup, "AT_ONCE", 3)
    threads = [threading.Thread(target=_roll) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkey.undo()
    assert failures == []
    roll_up()
    assert _rolled() == 60


def test_a_board_read_while_a_step_moves_rows_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step falls between reading the tail and reading the counts; the board is read anew."""
    from gateway.figures import boards

    _record(3)
    seal_all()
    real, turns = boards._tallies, iter([True])

    def _meanwhile(*given: Any) -> Any:
        if next(turns, False):
            with transaction.atomic():
                roll_step(TENANT)
        return real(*given)

    monkeypatch.setattr(boards, "_tallies", _meanwhile)
    assert _executed() == 3
