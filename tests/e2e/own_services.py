"""Places of one's own on given servers: the demo's sign-ins fit only what it made itself, and of
two demos with one queue each would take calls that only the other knows."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

REDIS_PLACES = 15  # beside the one that counts them


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


def own_queue(redis_url: str | None) -> str | None:
    """The address of an empty place on that Redis that no other demo has; None for none."""
    if not redis_url:
        return None
    with redis.Redis.from_url(urlunsplit(urlsplit(redis_url)._replace(path="/0"))) as counting:
        number = 1 + int(counting.incr("contextos-e2e-places")) % REDIS_PLACES
    url = urlunsplit(urlsplit(redis_url)._replace(path=f"/{number}"))
    with redis.Redis.from_url(url) as mine:
        mine.flushdb()
    return url


def _tell(server_url: str, statement: sql.Composed) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement)
