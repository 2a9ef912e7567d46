"""Where the running product really keeps its rows, seen through the database itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.e2e.demo_process import Demo
from tests.e2e.visitor import Visitor

ArriveAs = Callable[[str], Visitor]
Server = psycopg.Connection[Any]
REASON = "Proof that this row lands in the database that was given."


@pytest.fixture
def server(demo: Demo) -> Iterator[Server]:
    """The demo's PostgreSQL; the pass on the embedded database has none."""
    if demo.database_url is None:
        pytest.skip("this pass runs on the embedded database (`make e2e` makes a second one)")
    with psycopg.connect(demo.database_url, autocommit=True) as connection:
        yield connection


def _is_lifted(server: Server) -> list[bool]:
    """Of every switch thrown for our reason, whether it is lifted: asked of PostgreSQL only."""
    question = "SELECT lifted_at IS NOT NULL FROM registry_killswitch WHERE reason = %s"
    return [row[0] for row in server.execute(question, [REASON])]


def test_what_a_person_does_in_the_browser_lands_in_postgresql(
    server: Server, sign_in: ArriveAs
) -> None:
    operator = sign_in("operator")
    operator.open("/admin/registry/capability/?q=issue_refund")
    operator.click("text=payments.issue_refund")
    operator.click(".reg-head__buttons >> text=Kill switch")
    operator.page.fill("#id_reason", REASON)
    operator.click("text=Show what will stop")
    assert _is_lifted(server) == []
    operator.click("text=Throw the switch")
    assert _is_lifted(server) == [False]
    operator.click("text=Lift it")
    operator.page.fill("#id_reason", "It landed.")
    operator.click("text=Lift the switch")
    assert _is_lifted(server) == [True]


def test_beside_postgresql_no_embedded_database_is_made(server: Server, demo: Demo) -> None:
    found = {path.name for path in demo.data_dir.rglob("*.sqlite3")}
    assert found <= {"payments-ledger.sqlite3"}, "the upstream's own book is not our database"
    tables = server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables is not None
    assert tables[0] > 20
