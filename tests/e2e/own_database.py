"""A database of one's own on a given server: the demo's sign-ins fit only what it made itself."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql


@contextmanager
def own_database(server_url: str | None) -> Iterator[str | None]:
    """The address of a new, empty database on that server, dropped at the end; None for none."""
    if not server_url:
        yield None
        return
    name = f"contextos_e2e_{secrets.token_hex(4)}"
    _tell(server_url, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        _tell(server_url, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _tell(server_url: str, statement: sql.Composed) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement)
