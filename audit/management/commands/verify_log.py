"""`manage.py verify_log`: whether the log is what was signed, row by row."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.verifying.findings import Report
from audit.verifying.log import logs_there_are, verify_tenant
from audit.verifying.processes import usual_jobs
from audit.verifying.walk import Part, Progress

TAMPERED, UNUSABLE = 1, 2
MOST_SHOWN = 20


class Command(BaseCommand):
    """Recompute everything from the stored texts and compare it with what was signed."""

    help = (
        "Check that no record of the log was changed, removed, added or moved: texts, hashes, "
        "columns, tree, signatures, and the checkpoints outside the database. Exits 0 when all is "
        "as signed, 1 when something is not, 2 when the check can't be made."
    )
    requires_system_checks: list[str] = []  # it is run when something is wrong

    def add_arguments(self, parser: CommandParser) -> None:
        """All, one tenant, or a range."""
        parser.add_argument("--tenant", metavar="T", help="only this tenant's log")
        parser.add_argument("--from", dest="first", type=int, metavar="N", help="from this index")
        parser.add_argument("--to", dest="last", type=int, metavar="M", help="up to this index")
        parser.add_argument(
            "--checkpoints",
            metavar="DIR",
            type=Path,
            help="folder of the checkpoints kept outside (default: CONTEXTOS_CHECKPOINTS_DIR)",
        )
        parser.add_argument(
            "--jobs", type=int, default=usual_jobs(), help="processes (%(default)s)"
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Check each log and say what came of it."""
        outside = options["checkpoints"] or Path(settings.CHECKPOINTS_DIR)
        tenants = _tenants(options["tenant"], outside)
        part = _part(options)
        reports = [
            self._verified(each, part=part, outside=outside, jobs=options["jobs"])
            for each in tenants
        ]
        bad = [report.tenant_id for report in reports if not report.is_sound]
        if bad:
            raise CommandError(
                f"the log of {', '.join(bad)} is not what was signed.", returncode=TAMPERED
            )
        self.stdout.write(f"{len(reports)} logs are what was signed.")

    def _verified(self, tenant_id: str, *, part: Part, outside: Path, jobs: int) -> Report:
        began = time.monotonic()
        report = verify_tenant(
            tenant_id, outside=outside, part=part, jobs=jobs, progress=self._progress(tenant_id)
        )
        self._tell(report, time.monotonic() - began)
        return report

    def _progress(self, tenant_id: str) -> Progress:
        """On a terminal, twice a second at most."""
        told = [time.monotonic()]

        def progress(done: int, of: int) -> None:
            if sys.stderr.isatty() and (time.monotonic() - told[0] > 0.5 or done == of):
                told[0] = time.monotonic()
                self.stderr.write(f"\r{tenant_id}: {done:,} of {of:,} ", ending="")

        return progress

    def _tell(self, report: Report, seconds: float) -> None:
        facts = [
            f"{report.checked:,} of {report.tree_size:,} leaves read",
            f"{report.checkpoints:,} checkpoints",
            f"{report.outside:,} outside",
        ]
        if report.purged:
            facts.append(f"{report.purged:,} purged under retention")
        if report.waiting:
            facts.append(f"{report.waiting:,} waiting to be sealed")
        verdict = "as signed" if report.is_sound else "NOT AS SIGNED"
        self.stdout.write(f"{report.tenant_id}: {verdict} ({', '.join(facts)}; {seconds:.1f} s)")
        if report.first_bad_index is not None:
            self.stdout.write(f"  first bad index: {report.first_bad_index}")
        for finding in report.findings[:MOST_SHOWN]:
            self.stdout.write(f"  {finding}")
        more = len(report.findings) - MOST_SHOWN
        if more > 0:
            self.stdout.write(f"  and {more} more")


def _tenants(asked: str | None, outside: Path) -> list[str]:
    known = logs_there_are(outside)
    if asked is None:
        return known
    if asked not in known:
        raise CommandError(f"there is no log of a tenant {asked!r}.", returncode=UNUSABLE)
    return [asked]


def _part(options: dict[str, Any]) -> Part:
    first, last = options["first"], options["last"]
    if (first is not None and first < 0) or (last is not None and last <= (first or 0)):
        raise CommandError("--from and --to name no range.", returncode=UNUSABLE)
    if (first, last) == (None, None):
        return Part()
    return Part(first or 0, last)
