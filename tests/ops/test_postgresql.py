"""The PostgreSQL engine: a lost connection is noticed without a round trip, and replaced."""

from __future__ import annotations

import psycopg
import pytest
from django.db import (
    DEFAULT_DB_ALIAS,
    IntegrityError,
    OperationalError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)
from django.test.utils import CaptureQueriesContext

from contextos.core.clock import utcnow
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


def _prepared() -> int:
    return int((first_row("SELECT count(*) FROM pg_prepared_statements", []) or (0,))[0])


@pytest.mark.django_db(transaction=True)
def test_a_statement_is_prepared_once_for_the_types_of_its_parameters() -> None:
    connection.close()
    before = _prepared()
    rows = [first_row("SELECT $1::text || 'x', $2::int", ["a", number]) for number in (1, 2)]
    assert rows == [("ax", 1), ("ax", 2)]
    assert _prepared() == before + 1
    assert first_row("SELECT $1::text || 'x', $2::int", ["a", 100_000]) == ("ax", 100_000)
    assert _prepared() == before + 2


@pytest.mark.django_db(transaction=True)
def test_statements_outlive_a_transaction_that_was_undone() -> None:
    """Psycopg deallocates everything then: after one refused write each later call was a 500."""
    connection.close()
    asked = "SELECT $1::int + 1"
    for _ in range(3):
        assert first_row(asked, [1]) == (2,)
        with transaction.atomic():
            assert first_row(asked, [2]) == (3,)  # prepared by psycopg itself in here
            transaction.set_rollback(True)
        assert first_row(asked, [3]) == (4,)
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements WHERE statement = %s", [asked])
        (one,) = cursor.fetchall()
        cursor.execute(f"DEALLOCATE {one[0]}")
    assert first_row("SELECT $1::int + 2", [1]) == (3,)
    assert first_row(asked, [4]) == (5,)


@pytest.mark.django_db(transaction=True)
def test_nothing_is_prepared_where_a_pooler_would_forget_it() -> None:
    connection.ensure_connection()
    connection.connection.prepare_threshold = None
    assert first_row("SELECT $1::int", [7]) == (7,)
    assert _prepared() == 0
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_query_without_a_row_and_every_type_that_a_governed_call_sends() -> None:
    assert first_row("SELECT 1 WHERE false", []) is None
    moment = utcnow()
    sent = [None, "ü", 3, True, b"\x00\xff", moment]
    marks = "$1::text, $2::text, $3::bigint, $4::bool, $5::bytea, $6::timestamptz"
    assert first_row(f"SELECT {marks}", sent) == (None, "ü", 3, True, b"\x00\xff", moment)


@pytest.mark.django_db(transaction=True)
def test_a_fault_says_what_the_database_said_and_the_connection_goes_on() -> None:
    for _ in range(2):  # before and after it is prepared
        with pytest.raises(IntegrityError) as refused:
            first_row(
                "WITH made AS (INSERT INTO identity_tenant (tenant_id) SELECT $1 RETURNING 1)"
                " SELECT count(*) FROM made",
                [None],
            )
        assert refused.value.__cause__.diag.column_name == "tenant_id"  # type: ignore[union-attr]
    with pytest.raises(ProgrammingError):
        first_row("SELECT nothing_of_this_name", [])
    assert first_row("SELECT 1", []) == (1,)


@pytest.mark.django_db(transaction=True)
def test_a_session_that_ends_under_a_statement_is_an_operational_fault() -> None:
    assert first_row("SELECT $1::int", [1]) == (1,)
    _hang_up()
    vars(connections[DEFAULT_DB_ALIAS]).update(health_check_done=True)
    with pytest.raises(OperationalError):
        first_row("SELECT $1::int", [1])
    connection.close()
    assert first_row("SELECT $1::int", [1]) == (1,)


@pytest.mark.django_db(transaction=True)
def test_a_statement_inside_a_transaction_is_undone_with_it() -> None:
    sql = "SELECT set_config('contextos.probe', $1, true)"
    with transaction.atomic():
        assert first_row(sql, ["inside"]) == ("inside",)
        assert first_row("SELECT current_setting('contextos.probe', true)", []) == ("inside",)
        transaction.set_rollback(True)
    assert (first_row("SELECT current_setting('contextos.probe', true)", []) or ("",))[0] in {
        None,
        "",
    }
