"""`python -m tests.bench`: measures on a database of its own and writes the results down."""

from __future__ import annotations

import gc
import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import chain
from pathlib import Path

from tests.bench.measure import Row
from tests.bench.promised import missing_of

ROOT = Path(__file__).resolve().parents[2]


SECTIONS = ("registry", "approvals", "gateway", "mcp", "log", "peers", "memory")
_LONG = {"peers", "memory"}  # not in the quick form


def main() -> int:
    """Measure and write down. A noisy machine is no failure unless `--strict` says so."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, at most a minute")
    parser.add_argument("--strict", action="store_true", help="fail where a must is missed")
    parser.add_argument("--write-docs", action="store_true", help="refresh docs/benchmarks.md")
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, help="some sections, shown and not written down"
    )
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextos.settings.test")
    import django

    django.setup()
    from tests.bench.page import table_of

    wanted = options.only or [name for name in SECTIONS if not (options.quick and name in _LONG)]
    rows = _measured(wanted, quick=options.quick)
    sys.stdout.write(table_of(rows))
    if not options.only:
        _write_down(rows, docs=options.write_docs)
    missed = [str(row["name"]) for row in rows if not row["ok"]]
    if missed:
        sys.stderr.write(f"bench: missed its must: {', '.join(missed)}\n")
    missing = [] if options.only else missing_of(rows)
    if missing:
        sys.stderr.write(f"bench: not measured: {', '.join(missing)}\n")
    return 1 if (missed or missing) and options.strict else 0


def _write_down(rows: list[dict[str, object]], *, docs: bool) -> None:
    from tests.bench.page import page_of

    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(rows, indent=2) + "\n")
    if docs:
        (ROOT / "docs" / "benchmarks.md").write_text(page_of(rows))


def _measured(wanted: Collection[str], *, quick: bool) -> list[dict[str, object]]:
    from django.db import connection
    from django.test.utils import setup_test_environment

    setup_test_environment()
    gc.disable()  # migrations make models by the thousand, none of them garbage: 8 s instead of 7
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    gc.enable()
    try:
        return [
            row.as_dict()
            for name, rows in _sections(quick=quick).items()
            if name in wanted
            for row in rows()
        ]
    finally:
        connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


def _sections(*, quick: bool) -> dict[str, Callable[[], Iterable[Row]]]:
    """By name and in order; on SQLite only those that say something there."""
    from django.db import connection

    from tests.bench.approvals_rows import approvals_rows
    from tests.bench.export_rows import export_rows
    from tests.bench.gateway_rows import gateway_rows
    from tests.bench.log_rows import VERIFIED, log_rows
    from tests.bench.mcp_rows import mcp_rows
    from tests.bench.memory_rows import memory_rows
    from tests.bench.peer_rows import peer_rows
    from tests.bench.registry_rows import registry_rows

    everywhere: dict[str, Callable[[], Iterable[Row]]] = {
        "registry": partial(registry_rows, quick=quick),
        "approvals": partial(approvals_rows, quick=quick),
    }
    if connection.vendor != "postgresql":
        return everywhere
    return everywhere | {
        "gateway": partial(gateway_rows, quick=quick),
        "mcp": partial(mcp_rows, quick=quick),
        "log": lambda: chain(log_rows(quick=quick), export_rows(VERIFIED)),  # of the same records
        "peers": peer_rows,
        "memory": memory_rows,
    }


if __name__ == "__main__":
    sys.exit(main())
