"""Rows of the log can be added and nothing else, on PostgreSQL and on SQLite alike."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import TransactionTestCase

from audit.append_only import install, missing_triggers, protected_tables, remove
from audit.checks import append_only_triggers_stand
from audit.models import AuditEvent
from audit.services import record_event
from tests.factories import SYSTEM
from tests.putting_back import triggers_asleep

TABLE = "audit_auditevent"
COLUMNS = (
    "event_id, tenant_id, action, actor_kind, actor_id, "
    "subject_kind, subject_id, created_at, text, leaf_hash"
)


@pytest.fixture
def event(db: None) -> AuditEvent:
    return record_event(
        tenant_id="platform",
        action="identity.key.rotated",
        actor=SYSTEM,
        subject_kind="key",
        subject_id="tokens",
    )


def refused(statement: str) -> str:
    with (
        pytest.raises(DatabaseError) as caught,
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    return str(caught.value)


def _stored_text(event: AuditEvent) -> str:
    return AuditEvent.objects.get(pk=event.pk).text


@pytest.mark.proves("E2")
@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE {TABLE} SET text = 'forged'",
        f"UPDATE {TABLE} SET tenant_id = tenant_id",
        f"DELETE FROM {TABLE}",
    ],
)
def test_changing_or_removing_a_row_is_refused(event: AuditEvent, statement: str) -> None:
    assert "can't be changed or removed" in refused(statement)
    assert _stored_text(event) == event.text


@pytest.mark.proves("E2")
def test_the_orm_can_neither_save_nor_delete_an_event(event: AuditEvent) -> None:
    event.text = "forged"
    for attempt in (event.save, event.delete, AuditEvent.objects.all().delete):
        with pytest.raises(DatabaseError, match="can't be changed"), transaction.atomic():
            attempt()
    assert AuditEvent.objects.count() == 1


@pytest.mark.proves("E2")
def test_an_upsert_over_an_existing_row_is_refused(event: AuditEvent) -> None:
    statement = (
        f"INSERT INTO {TABLE} ({COLUMNS}) SELECT {COLUMNS} FROM {TABLE} WHERE true "
        "ON CONFLICT (event_id) DO UPDATE SET text = 'forged'"
    )
    refused(statement)
    assert _stored_text(event) == event.text


@pytest.mark.proves("E2")
def test_truncating_is_refused_on_postgresql(event: AuditEvent) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE; its DELETE without WHERE is tested above")
    assert "can't be changed or removed" in refused(f"TRUNCATE {TABLE}")
    assert "can't be changed or removed" in refused(f"TRUNCATE {TABLE} CASCADE")


# Tables of audit that are no part of the log, each with the reason.
MAY_SHRINK = {
    "audit_unsealedleaf": "a queue: sealing moves its rows into the log",
    "audit_loghead": "how far a log has grown; its leaves and checkpoints only grow",
    "audit_outsidemark": "how far a place outside has checkpoints; moves on as they are sent",
    "audit_payload": "values can be erased; the log holds only their commitments",
    "audit_decisionamount": "amounts to search by, made from values; erased with them",
    "audit_exportjob": "work under way; asking, ending and fetching are events",
    "audit_logcheck": "a check under way and what it found; asking and ending are events",
    "audit_exportreader": "for whom an export was made; goes with it",
    "audit_reportdefinition": "a report that is asked for again; each change is an event",
    "audit_reportnotice": "an outbox: who is still to be told",
    "audit_reportrun": "which periods were written; asking for them is an event",
    "audit_savedsearch": "a person's own list of searches",
    "audit_auditoraccess": "who may read, until when; each change is an event",
    "audit_erasure": "a list of what was asked for; each step is an event",
    "audit_legalhold": "only its release changes, once: triggers of audit.keeping_triggers",
}
FORGED = COLUMNS.replace("text,", "'forged',")
FORGED_UNDER_ANOTHER_ID = FORGED.replace("event_id", "'aud_other'")


@pytest.mark.proves("E2")
@pytest.mark.parametrize(
    "statement",
    [
        f"REPLACE INTO {TABLE} ({COLUMNS}) SELECT {FORGED} FROM {TABLE}",
        f"INSERT OR REPLACE INTO {TABLE} ({COLUMNS}) SELECT {FORGED} FROM {TABLE}",
        f"UPDATE OR REPLACE {TABLE} SET text = 'forged'",
        f"REPLACE INTO {TABLE} (rowid, {COLUMNS}) "  # noqa: ISC004
        f"SELECT rowid, {FORGED_UNDER_ANOTHER_ID} FROM {TABLE}",
    ],
    ids=["replace", "insert or replace", "update or replace", "replace by rowid"],
)
def test_replacing_a_row_is_refused_on_sqlite(event: AuditEvent, statement: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite replaces rows without firing delete triggers")
    assert "can't be changed or removed" in refused(statement)
    assert _stored_text(event) == event.text
    assert AuditEvent.objects.count() == 1


def test_adding_rows_goes_on_working(event: AuditEvent) -> None:
    for number in range(3):
        record_event(
            tenant_id="platform",
            action="identity.key.rotated",
            actor=SYSTEM,
            subject_kind="key",
            subject_id=str(number),
        )
    assert AuditEvent.objects.count() == 4


@pytest.mark.proves("E2")
@pytest.mark.django_db
def test_every_table_that_says_append_only_has_its_triggers() -> None:
    assert TABLE in protected_tables()
    assert [(table, missing_triggers(connection, table)) for table in protected_tables()] == [
        (table, frozenset()) for table in protected_tables()
    ]
    assert append_only_triggers_stand(databases=["default"]) == []


def test_every_table_of_the_log_only_grows_unless_it_is_named_here() -> None:
    tables = {model._meta.db_table for model in apps.get_app_config("audit").get_models()}
    assert tables - set(protected_tables()) <= set(MAY_SHRINK)


@pytest.mark.proves("E2")
@pytest.mark.django_db
def test_the_start_up_check_finds_a_missing_trigger() -> None:
    remove(connection, TABLE)
    try:
        found = run_checks(tags=["database"], databases=["default"])
        assert [message.id for message in found] == ["audit.E001"]
        assert TABLE in found[0].msg
    finally:
        install(connection, TABLE)
    assert run_checks(tags=["database"], databases=["default"]) == []


@pytest.mark.proves("E2")
@pytest.mark.django_db(transaction=True)
def test_the_migration_can_be_taken_back_and_made_again() -> None:
    try:
        call_command("migrate", "audit", "0001", verbosity=0)
        assert missing_triggers(connection, TABLE)
    finally:
        call_command("migrate", "audit", verbosity=0)
    assert not missing_triggers(connection, TABLE)


def test_tests_may_flush_and_the_triggers_stand_afterwards(event: AuditEvent) -> None:
    with triggers_asleep(connection), connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {TABLE}")
    assert AuditEvent.objects.count() == 0
    assert not missing_triggers(connection, TABLE)


class TransactionalTestsStartClean(TransactionTestCase):
    """Two tests that both write: the second would see the first's row if the flush had failed."""

    def _write_one(self) -> None:
        record_event(
            tenant_id="platform",
            action="identity.key.rotated",
            actor=SYSTEM,
            subject_kind="key",
            subject_id="tokens",
        )
        assert AuditEvent.objects.count() == 1

    def test_first(self) -> None:
        self._write_one()

    def test_second(self) -> None:
        self._write_one()
