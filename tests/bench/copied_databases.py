"""Copies of the bench's PostgreSQL database, spoken to by this one process in turns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections


@contextmanager
def copied(name: str) -> Iterator[Any]:
    """A copy of the database that is spoken to now, as a connection of its own; gone afterwards."""
    source = str(connection.settings_dict["NAME"])
    own = f"{source}_{name}"
    connection.close()  # nobody may speak to what is copied
    _tell(
        f'DROP DATABASE IF EXISTS "{own}" WITH (FORCE)',
        f'CREATE DATABASE "{own}" TEMPLATE "{source}"',
    )
    made: Any = connections.create_connection(DEFAULT_DB_ALIAS)
    made.settings_dict = {**made.settings_dict, "NAME": own}
    try:
        yield made
    finally:
        made.close()
        _tell(f'DROP DATABASE "{own}" WITH (FORCE)')


@contextmanager
def spoken_to(database: Any) -> Iterator[None]:
    """Everything asked inside the block is asked of this one."""
    usual = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = database
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = usual


def _tell(*statements: str) -> None:
    """Said beside all databases, as making and dropping one must be."""
    creation: Any = connection.creation
    with creation._nodb_cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
