"""`python -m tests.faults`: the table of the last run, on the screen or as docs/faults.md."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from datetime import UTC, datetime

from tests.faults.results import FILE, RECOVERY_SECONDS, Row, read_rows
from tests.ops.environment import ROOT

PAGE = ROOT / "docs" / "faults.md"
WORDS = ROOT / "tests" / "faults" / "page.md"


def main() -> int:
    """Show it; with `--write-docs` also write the page."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="refresh docs/faults.md")
    options = parser.parse_args()
    rows = read_rows()
    if not rows:
        sys.stderr.write(f"faults: nothing in {FILE.relative_to(ROOT)}; run `make faults` first.\n")
        return 1
    table = _table(rows)
    sys.stdout.write(table)
    if options.write_docs:
        PAGE.write_text(_page(table))
    return 0 if all(row.ok for row in rows) else 1


def _table(rows: Sequence[Row]) -> str:
    lines = ["| fault | struck | calls | effects | unknown | recovery, s | ok |"]
    lines += ["|---|---|---|---|---|---|---|"]
    lines += [
        f"| {row.fault} | {row.points} | {row.calls} | {row.effects} | {row.unknown} | "
        f"{'–' if row.recovery_seconds is None else row.recovery_seconds} | "
        f"{'yes' if row.ok else 'NO'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _page(table: str) -> str:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    told = {
        "date": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        "commit": commit,
        "form": "long" if os.environ.get("CONTEXTOS_FAULTS_LONG") else "short",
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[2]:.0f}",
        "python": platform.python_version(),
        "limit": f"{RECOVERY_SECONDS:.0f}",
        "table": table,
    }
    return WORDS.read_text().format(**told)


if __name__ == "__main__":
    sys.exit(main())
