"""Puts the database back after a transactional test, which triggers refuse to everybody else.

Django's own way truncates every table and writes content types, permissions and roles anew: over
a second a test here. This one deletes what is there and copies back what the migrations had left.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.test import TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from tests.migrated import own_database

KEPT = "kept_after_migrations_"


@contextmanager
def triggers_asleep(
    connection: BaseDatabaseWrapper, *, filling: Collection[str] | None = None
) -> Iterator[None]:
    """Only tests have this: the product has no way to switch the triggers off.

    SQLite can't rest a trigger, only drop it and make it again, which takes its time. Whoever is
    only `filling` or emptying some tables leaves all others, and those that watch changes, alone.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            try:
                yield
            finally:
                cursor.execute("SET session_replication_role = origin")
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = [
            (name, text)
            for name, table, text in cursor.fetchall()
            if filling is None or (table in filling and "BEFORE UPDATE" not in text)
        ]
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        try:
            yield
        finally:
            for _, text in triggers:
                cursor.execute(text.replace("%", "%%"), [])


@cache
def tables() -> list[str]:
    """Every table that tests may fill."""
    names = set(connection.introspection.django_table_names(only_existing=True))
    return sorted(names - {"django_migrations"})


@cache
def kept_tables() -> dict[str, str]:
    """Where the rows of a table are kept that the migrations left."""
    with connection.cursor() as cursor:
        there = connection.introspection.table_names(cursor)
    return {name.removeprefix(KEPT): name for name in there if name.startswith(KEPT)}


def keep_what_migrations_left() -> None:
    """Copies of the tables that are not empty before the first test."""
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(f"SELECT EXISTS (SELECT 1 FROM {table})")
            row = cursor.fetchone()
            if row and row[0]:
                cursor.execute(f"CREATE TABLE {KEPT}{table} AS SELECT * FROM {table}")


def put_back() -> None:
    """Every table as the migrations left it."""
    kept = kept_tables()
    off = connection.constraint_checks_disabled()
    with off, transaction.atomic(), connection.cursor() as cursor:
        found = _filled(cursor) | kept.keys()
        with triggers_asleep(connection, filling=found):
            _exchange(cursor, sorted(found), kept)


def _filled(cursor: CursorWrapper) -> set[str]:
    """Asked in one statement: most tables are empty after most tests."""
    asked = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables())
    cursor.execute(" UNION ALL ".join(asked))
    return {name for (name,) in cursor.fetchall()}


def _exchange(cursor: CursorWrapper, names: Iterable[str], kept: Mapping[str, str]) -> None:
    for table in names:
        cursor.execute(f"DELETE FROM {table}")
        if table in kept:
            cursor.execute(f"INSERT INTO {table} SELECT * FROM {kept[table]}")


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """The database is made, remembered, and put back after every transactional test."""
    crew = getattr(request.config, "workerinput", {})  # xdist's words for who we are
    run, worker = crew.get("testrunuid", str(os.getpid()))[:8], crew.get("workerid", "only")

    def put_back_after(self: Any) -> None:
        put_back()

    database = own_database(run=run, worker=worker, finish=keep_what_migrations_left)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", put_back_after)
        with django_db_blocker.unblock(), database, django_db_blocker.block():
            yield
