"""Today's code over the schema one migration back, and over one that is a step further."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.ledger_manifests import POST, POST_BLINDLY
from tests.faults.plant import Plant, wait_until
from tests.faults.results import Results
from tests.faults.services import Database
from tests.faults.trouble import UNAVAILABLE, Trouble
from tests.ops.environment import ROOT
from tests.ops.processes import free_port

LONG = bool(os.environ.get("CONTEXTOS_FAULTS_LONG"))
APPS = {
    "audit": ROOT / "audit",
    "approvals": ROOT / "approvals",
    "gateway": ROOT / "gateway",
    "registry": ROOT / "registry",
    "identity": ROOT / "contextos" / "identity",
}
SHORT = ("gateway",)
FAULT = "Rolling deploy: schema one migration back"
_TOMORROW = (
    "ALTER TABLE gateway_toolcall ADD COLUMN tomorrow text",
    "ALTER TABLE audit_decisionrow ADD COLUMN tomorrow text",
    "INSERT INTO django_migrations (app, name, applied) VALUES ('gateway', '9999_next', now())",
)
_BACK = (
    "ALTER TABLE gateway_toolcall DROP COLUMN tomorrow",
    "ALTER TABLE audit_decisionrow DROP COLUMN tomorrow",
    "DELETE FROM django_migrations WHERE name = '9999_next'",
)


@pytest.mark.proves("C9", "E1")
def test_running_code_does_not_mind_columns_that_the_next_version_added(
    plant: Plant, database: Database, results: Results
) -> None:
    with results.of("Rolling deploy: schema one step ahead", plant) as row:
        met = Trouble(plant, "ahead")
        met.begin_writes()
        try:
            _sql(database.url, *_TOMORROW)
            assert met.try_all(9, tag="ahead") <= {200, 202}, met.codes
            assert _readiness(plant.port)[0] == 200
            plant.settled()
        finally:
            _sql(database.url, *_BACK)
        met.recover(row)


@pytest.mark.proves("C9", "E1")
def test_code_that_is_ahead_of_its_schema_says_so_and_does_nothing_unrecorded(
    plant: Plant, database: Database, results: Results
) -> None:
    older = _copied(plant, database)
    older.start_web()
    try:
        with _migrating(older) as migrate:
            for app in APPS if LONG else SHORT:
                with results.of(FAULT, older):
                    _one_step_back(older, migrate, app)
        with results.of(FAULT, older, points=0) as row:
            older.start_embedded()  # whoever works on what was taken comes with the new schema
            Trouble(older, "back-over").recover(row)
    finally:
        older.stop()


def _one_step_back(older: Plant, migrate: Any, app: str) -> None:
    met = Trouble(older, f"back-{app}")
    before = _names(app)[-2]
    if (said := migrate(app, before)) != "done":
        pytest.fail(f"{app} can't go back to {before}: {said}")
    status, parts = _readiness(older.port)
    assert (status, parts["migrations"]) == (503, "1 not applied: run manage.py migrate")
    statuses = met.try_all(6, tag="back")
    assert statuses <= {200, 202, 503}, (app, met.codes)
    assert set(met.codes) <= set(UNAVAILABLE), (app, met.codes)
    assert not met.happened()
    assert all(effect.recorded for effect in older.ledger.of(*met.taken.values()))
    assert migrate(app, "") == "done"
    wait_until(lambda: _readiness(older.port)[0] == 200, "it is ready again", seconds=30)
    for capability in (POST, POST_BLINDLY):
        assert met.propose(capability, f"back-{app}-after-{capability}") == 202, met.codes


def _copied(plant: Plant, database: Database) -> Plant:
    """The same tenant in a database that may be turned back, its keys and ledger in a folder that
    may be written to."""
    plant.settled()
    folder = plant.folder.with_name("older")
    # First: checkpoints outside may be behind the database, never ahead of it.
    shutil.copytree(plant.folder, folder, ignore=shutil.ignore_patterns("*.log"))
    url = database.copy("older")
    return replace(
        plant, folder=folder, database_url=url, redis_url=None, port=free_port(), _running={}
    )


@contextmanager
def _migrating(plant: Plant) -> Iterator[Any]:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.migrator"],
        cwd=ROOT,
        env=plant.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    told, said = child.stdin, child.stdout

    def migrate(app: str, name: str) -> str:
        told.write(f"{app} {name}\n")
        told.flush()
        return str(said.readline()).strip()

    try:
        assert said.readline().strip() == "ready"
        yield migrate
    finally:
        told.close()
        child.wait(timeout=30)
        said.close()


def _names(app: str) -> list[str]:
    folder: Path = APPS[app] / "migrations"
    return sorted(path.stem for path in folder.glob("[0-9]*.py"))


def _readiness(port: int) -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, json.JSONDecoder().decode(answer.read().decode())["parts"]
    finally:
        connection.close()


def _sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
