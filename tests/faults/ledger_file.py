"""The ledger's file: one table without a single uniqueness, so that a doubled effect shows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_TABLE = (
    "CREATE TABLE IF NOT EXISTS effects (capability TEXT, key TEXT, tool_call_id TEXT, "
    "attempt INTEGER, is_write INTEGER, at REAL, recorded INTEGER, votes INTEGER)"
)
ENTRY = "INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def open_ledger(path: Path) -> sqlite3.Connection:
    """The ledger, made where there is none; a write in it survives the writer."""
    ledger = sqlite3.connect(path, timeout=30, isolation_level=None)
    ledger.execute("PRAGMA journal_mode=WAL")
    ledger.execute("PRAGMA synchronous=OFF")  # a killed process loses nothing by it
    ledger.execute(_TABLE)
    return ledger
