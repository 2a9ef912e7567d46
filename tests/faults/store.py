"""The database and the ledger as a bystander reads them: plain SQL, none of the product's code."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.ledger_file import open_ledger

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """One database by its URL; each question has a connection of its own.

    `home` is where the installation keeps its public keys and the checkpoints outside the database.
    """

    url: str
    home: Path | None = None

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """What a SELECT finds; `%s` marks a parameter on both databases."""
        if self.url.startswith("sqlite:///"):
            path = self.url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as found:
                return found.execute(sql.replace("%s", "?"), tuple(parameters)).fetchall()
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(sql.encode(), parameters).fetchall()

    def together(self, *questions: str) -> list[list[Row]]:
        """What they find at one and the same moment, whatever others write meanwhile."""
        if self.url.startswith("sqlite:///"):
            path = self.url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as found:
                found.execute("BEGIN")
                return [found.execute(sql).fetchall() for sql in questions]
        with psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            return [connection.execute(sql.encode()).fetchall() for sql in questions]

    def states(self, *tool_call_ids: str) -> list[str]:
        """Where these calls stand, in the order they were named."""
        marks = ", ".join(["%s"] * len(tool_call_ids))
        sql = f"SELECT tool_call_id, state FROM gateway_toolcall WHERE tool_call_id IN ({marks})"
        found = {name: str(state) for name, state in self.rows(sql, tool_call_ids)}
        return [found[name] for name in tool_call_ids]

    def under_way(self) -> int:
        """How many calls somebody still has to work on."""
        sql = "SELECT count(*) FROM gateway_toolcall WHERE state IN ('queued', 'executing')"
        return int(self.rows(sql)[0][0])

    def unsealed(self) -> int:
        """How many records and events wait for a sealer."""
        return int(self.rows("SELECT count(*) FROM audit_unsealedleaf")[0][0])


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the ledger."""

    capability: str
    key: str | None
    tool_call_id: str
    attempt: int
    is_write: bool
    at: float
    recorded: bool | None  # whether the decision stood in the database by then, if it was asked
    votes: int | None  # how many people had said yes to exactly this by then, if it was asked


@dataclass(frozen=True, slots=True)
class Ledger:
    """What really happened."""

    path: Path

    def effects(self) -> list[Effect]:
        """Every line, reads included."""
        with closing(open_ledger(self.path)) as book:
            found = book.execute("SELECT * FROM effects ORDER BY at").fetchall()
        return [_effect(row) for row in found]

    def of(self, *tool_call_ids: str) -> list[Effect]:
        """The lines of these calls."""
        return [effect for effect in self.effects() if effect.tool_call_id in tool_call_ids]


def _effect(row: Row) -> Effect:
    capability, key, tool_call_id, attempt, is_write, at, recorded, votes = row
    known = None if recorded is None else bool(recorded)
    return Effect(capability, key, tool_call_id, attempt, bool(is_write), at, known, votes)
