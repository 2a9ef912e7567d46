"""The PostgreSQL engine: a lost connection is noticed without a round trip, and replaced."""

from __future__ import annotations

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test.utils import CaptureQueriesContext

from contextos.raw_sql import first_row, numbered

pytestmark = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="SQLite has no connection to lose"
)


def _hang_up() -> None:
    """The server ends our session, as a restart would."""
    kept = connection.connection
    with psycopg.connect(kept.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [kept.info.backend_pid])


@pytest.mark.django_db(transaction=True)
def test_a_session_the_server_ended_is_noticed_without_asking_it() -> None:
    connection.ensure_connection()
    with CaptureQueriesContext(connection) as asked:
        assert connection.is_usable()
    assert not asked.captured_queries
    _hang_up()
    assert not connection.is_usable()
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_the_next_request_gets_a_new_session_and_a_new_cursor() -> None:
    assert first_row("SELECT $1::int + 1", [1]) == (2,)
    _hang_up()
    vars(connections[DEFAULT_DB_ALIAS]).update(health_check_enabled=True, health_check_done=False)
    assert first_row("SELECT $1::int + 1", [2]) == (3,)


def test_marks_are_numbered_and_a_doubled_sign_is_one() -> None:
    assert numbered("a = %s AND b LIKE 'x%%' AND c = %s") == "a = $1 AND b LIKE 'x%' AND c = $2"
