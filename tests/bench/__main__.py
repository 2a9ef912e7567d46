"""`python -m tests.bench`: measures on a database of its own and writes the results down."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Measure and write down. A noisy machine is no failure unless `--strict` says so."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, at most a minute")
    parser.add_argument("--strict", action="store_true", help="fail where a must is missed")
    parser.add_argument("--write-docs", action="store_true", help="refresh docs/benchmarks.md")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextos.settings.test")
    import django

    django.setup()
    from tests.bench.page import page_of, table_of

    rows = _measured(quick=options.quick)
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(rows, indent=2) + "\n")
    sys.stdout.write(table_of(rows))
    if options.write_docs:
        (ROOT / "docs" / "benchmarks.md").write_text(page_of(rows))
    missed = [str(row["name"]) for row in rows if not row["ok"]]
    if missed:
        sys.stderr.write(f"bench: missed its must: {', '.join(missed)}\n")
    return 1 if missed and options.strict else 0


def _measured(*, quick: bool) -> list[dict[str, object]]:
    from django.db import connection
    from django.test.utils import setup_test_environment

    from tests.bench.approvals_rows import approvals_rows
    from tests.bench.export_rows import export_rows
    from tests.bench.gateway_rows import gateway_rows
    from tests.bench.log_rows import VERIFIED, log_rows
    from tests.bench.mcp_rows import mcp_rows
    from tests.bench.memory_rows import memory_rows
    from tests.bench.peer_rows import peer_rows
    from tests.bench.registry_rows import registry_rows

    setup_test_environment()
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        rows = [row.as_dict() for row in registry_rows(quick=quick)]
        rows += [row.as_dict() for row in approvals_rows(quick=quick)]
        if connection.vendor == "postgresql":
            rows += [row.as_dict() for row in gateway_rows(quick=quick)]
            rows += [row.as_dict() for row in mcp_rows(quick=quick)]
            rows += [row.as_dict() for row in log_rows(quick=quick)]
            rows += [row.as_dict() for row in export_rows(VERIFIED)]
            if not quick:
                rows += [row.as_dict() for row in peer_rows()]
                rows += [row.as_dict() for row in memory_rows()]
        return rows
    finally:
        connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


if __name__ == "__main__":
    sys.exit(main())
