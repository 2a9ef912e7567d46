"""PostgreSQL killed, restarted, read-only, out of connections, full; the log not writable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest

from tests.faults.plant import Plant
from tests.faults.results import Results
from tests.faults.services import Database
from tests.faults.trouble import UNAVAILABLE, Trouble

WHILE_AWAY = 9
UNTIL_FULL, CALLS_PER_RUN = 900, 150  # a run's own budget is 200
ANSWER_SECONDS = 8.0  # most that a caller waits for a no; two seconds on a quiet machine


@contextmanager
def _killed(database: Database) -> Iterator[None]:
    database.kill()
    try:
        yield
    finally:
        database.start()


@contextmanager
def _restarted(database: Database) -> Iterator[None]:
    database.restart()
    yield


@contextmanager
def _log_not_writable(database: Database) -> Iterator[None]:
    """No record can be written, while everything else can."""
    refuse = (
        "CREATE FUNCTION faults_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the log is not writable'; END $$;"
        "CREATE TRIGGER faults_refuse BEFORE INSERT ON audit_decisionrow "
        "EXECUTE FUNCTION faults_refuse()"
    )
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(refuse.encode())
        try:
            yield
        finally:
            connection.execute(b"DROP FUNCTION faults_refuse() CASCADE")


def _out_of_connections(database: Database) -> AbstractContextManager[None]:
    return database.out_of_connections()


def _read_only(database: Database) -> AbstractContextManager[None]:
    return database.read_only()


@pytest.mark.proves("C9", "E1")
@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        ("PostgreSQL killed (`kill -9`)", _killed),
        ("PostgreSQL out of connections", _out_of_connections),
        ("PostgreSQL read-only", _read_only),
        ("Audit log not writable", _log_not_writable),
    ],
    ids=["killed", "no-connections", "read-only", "log-not-writable"],
)
def test_what_cannot_be_recorded_is_refused_and_does_not_happen(
    plant: Plant,
    database: Database,
    results: Results,
    fault: str,
    trouble: Callable[[Database], AbstractContextManager[None]],
) -> None:
    with results.of(fault, plant) as row:
        met = Trouble(plant, fault)
        met.begin_writes()
        with trouble(database):
            statuses = met.try_all(WHILE_AWAY, tag="away")
            assert not met.happened()
        assert statuses == {503}, met.codes
        assert set(met.codes) <= set(UNAVAILABLE), met.codes
        assert met.slowest < ANSWER_SECONDS
        met.recover(row)


@pytest.mark.proves("C9", "E1")
def test_a_restart_of_the_database_costs_a_moment(
    plant: Plant, database: Database, results: Results
) -> None:
    with results.of("PostgreSQL restarted", plant) as row:
        met = Trouble(plant, "restarted")
        met.begin_writes()
        with _restarted(database):
            statuses = met.try_all(WHILE_AWAY, tag="after")
        assert statuses <= {200, 202, 503}, met.codes
        assert set(met.codes) <= set(UNAVAILABLE), met.codes
        met.recover(row)


@pytest.mark.proves("C9", "E1")
def test_on_a_full_disk_calls_are_refused_rather_than_forgotten(
    plant: Plant, database: Database, results: Results
) -> None:
    if not database.small_disk:
        pytest.skip("a disk small enough to fill is a tmpfs, which only root may mount")
    with results.of("PostgreSQL out of disk", plant) as row:
        met = Trouble(plant, "full")
        # Opened before: on a disk that is full from the first page on no run is.
        runs = [plant.caller.open_run() for _ in range(UNTIL_FULL // CALLS_PER_RUN)]
        with database.full():
            for number in range(UNTIL_FULL):
                met.run_id = runs[number // CALLS_PER_RUN]
                if met.propose("ledger.post_entry_blindly", f"full-{number}") == 503:
                    break
            assert met.refused, "the disk was full for nobody"
            assert not met.happened()
        assert set(met.codes) <= set(UNAVAILABLE), met.codes
        met.recover(row)
