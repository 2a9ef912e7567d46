"""Lets transactional tests empty the tables afterwards, which triggers refuse to everybody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

from audit import append_only
from contextos.review import frozen_contents, immutability


@contextmanager
def triggers_asleep(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Only tests have this: the product has no way to switch the triggers off."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            try:
                yield
            finally:
                cursor.execute("SET session_replication_role = origin")
        return
    _remove_all(connection)
    try:
        yield
    finally:
        _install_all(connection)


def _remove_all(connection: BaseDatabaseWrapper) -> None:
    for table in append_only.protected_tables():
        append_only.remove(connection, table)
    for table in immutability.frozen_tables():
        immutability.remove(connection, table)
    for table in frozen_contents.frozen_with_version():
        frozen_contents.remove(connection, table)


def _install_all(connection: BaseDatabaseWrapper) -> None:
    for table in append_only.protected_tables():
        append_only.install(connection, table)
    for table in immutability.frozen_tables():
        immutability.install(connection, table)
    for table, (parent, mutable) in frozen_contents.frozen_with_version().items():
        frozen_contents.install(connection, table, parent, mutable)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None,
) -> Iterator[None]:
    """Wraps the flush that ends a transactional test; runs once, before the database is made."""
    operations: Any = type(connection.ops)
    flush = operations.execute_sql_flush

    def flush_with_triggers_asleep(self: Any, sql_list: list[str]) -> None:
        with triggers_asleep(self.connection):
            flush(self, sql_list)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "execute_sql_flush", flush_with_triggers_asleep)
        yield
