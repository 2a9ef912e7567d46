"""Months are prepared ahead by a task; a month that rows reached first stays in the safety net."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.core.checks import run_checks
from django.db import connection

from audit.decisions import record_decision, rows_of
from audit.partitions import ensure_partitions, standing_partitions, unprepared_months
from audit.tasks import prepare_partitions
from tests.audit.logs import TENANT, facts

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.proves("E2"),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps one plain table"),
]
FAR = datetime(2031, 5, 20, tzinfo=UTC)


def test_the_task_makes_the_months_ahead_and_once_is_enough() -> None:
    before = standing_partitions(connection)
    prepare_partitions()
    assert standing_partitions(connection) == before
    made = ensure_partitions(now=FAR)
    assert made == [f"audit_decisionbody_y2031m{month:02d}" for month in (5, 6, 7, 8)]
    assert ensure_partitions(now=FAR) == []


def test_a_month_nobody_prepared_is_warned_of_and_loses_nothing() -> None:
    assert unprepared_months(now=FAR) == [
        "audit_decisionbody_y2031m05",
        "audit_decisionbody_y2031m06",
    ]
    early = facts(created_at=FAR)
    record_decision(early)
    made = ensure_partitions(now=FAR)
    assert "audit_decisionbody_y2031m05" not in made  # its rows lie in the safety net already
    assert "audit_decisionbody_y2031m06" in made
    assert len(rows_of(tenant_id=TENANT, decision_id=early.decision_id)) == 1


def test_a_prepared_database_has_no_warning() -> None:
    found = run_checks(databases=["default"])
    assert [each for each in found if each.id in ("audit.W001", "audit.E001")] == []


def test_texts_of_every_month_are_packed_by_lz4_where_the_server_has_it() -> None:
    ensure_partitions(now=FAR)
    with connection.cursor() as cursor:
        cursor.execute("SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'")
        (known,) = cursor.fetchone()
        cursor.execute(
            "SELECT DISTINCT attcompression FROM pg_attribute WHERE attname = 'text' "
            "AND attrelid::regclass::text LIKE 'audit\\_decisionbody%%'"
        )
        assert cursor.fetchall() == [("l" if "lz4" in known else "",)]
