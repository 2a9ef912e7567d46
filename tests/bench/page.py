"""docs/benchmarks.md: the rows of one run, and where and how it ran."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import psycopg

from tests.bench.causes import missed_of
from tests.bench.contextforge import PACKAGES
from tests.bench.promised import missing_of, said_of
from tests.bench.served import THREADS
from tests.ops.environment import ROOT

NOTES = ROOT / "tests" / "bench" / "notes.md"  # what rows mean, written by people
_HEAD = """# Benchmarks

Written by `make bench`; `make bench QUICK=1` takes a minute and writes only `build/bench.json`.
Medians of repeats (p95 where the name says so, means of CPU time), direct and governed calls
interleaved, all from one run on one machine: compare a row with its bars, not with another
day's run.
"""


def table_of(rows: Sequence[dict[str, object]]) -> str:
    """The rows in Markdown."""
    lines = ["| what | value | unit | must | aim | ok |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row['name']} | {row['value']} | {row['unit']} | {row['must']} | {row['aim']} | "
        f"{'yes' if row['ok'] else 'NO'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def page_of(rows: Sequence[dict[str, object]]) -> str:
    """docs/benchmarks.md."""
    missing = said_of(missing_of(rows))
    table = f"{missing}{table_of(rows)}"
    return f"{_HEAD}\n{_where()}\n{table}\n{missed_of(rows)}\n{NOTES.read_text()}"


def _where() -> str:
    """The machine, the versions and the settings that the figures hang on."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        (text,) = connection.execute("SELECT version()").fetchone() or ("",)
        rows = connection.execute(
            "SELECT name || ' = ' || current_setting(name) FROM pg_settings "
            "WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers', 'full_page_writes')"
        ).fetchall()
    database, settings = text.split(" on ")[0], ", ".join(row[0] for row in rows)
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("django", "granian", "psycopg", "mcp")
    )
    return (
        "| | |\n|---|---|\n"
        f"| when | {datetime.now(UTC):%Y-%m-%d %H:%M} UTC |\n"
        f"| machine | {os.cpu_count()} cores shared by gateway, database, far sides and load; "
        f"load average {os.getloadavg()[2]:.1f} over the last quarter of an hour |\n"
        f"| versions | Python {platform.python_version()}, {database}, {versions} |\n"
        f"| PostgreSQL | {settings} |\n"
        f"| web server | 1 process, {THREADS} threads |\n"
        f"| beside us | {PACKAGES[0]}, PostgreSQL and Redis, authentication on |\n"
    )
