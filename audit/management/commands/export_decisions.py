"""`manage.py export_decisions`: decision records to a file, whole or not at all."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.export import files
from audit.export.runner import run_held
from audit.export.services import ExportRequest, remove_export, request_export
from audit.export.states import ExportFormat
from audit.export.windows import everything
from audit.models import ExportJob
from audit.record_filter import PARAMETERS as NAMES
from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from contextos.identity.models import Tenant

ACTOR = automation("manage.py export_decisions")


class Command(BaseCommand):
    """Writes beside the target first; FILE.sha256 lets anybody check the copy."""

    help = "Export decision records as csv, jsonl, xlsx, pdf or a signed bundle (.zip)."

    def add_arguments(self, parser: CommandParser) -> None:
        """What, where to, and which records."""
        parser.add_argument("--format", required=True, choices=ExportFormat.values)
        parser.add_argument("--out", required=True, metavar="FILE", help="the file to write")
        parser.add_argument(
            "--tenant", metavar="T", help="tenant id; needed where there are several"
        )
        for name in NAMES:
            parser.add_argument(f"--{name}", metavar="X", dest=f"filter_{name}")
        parser.add_argument("--columns", metavar="A,B", default="", help="columns of a table")
        parser.add_argument("--sample", type=int, metavar="N", help="a random sample of N records")
        parser.add_argument("--seed", metavar="S", help="the seed of the sample (default: drawn)")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write, then say what was written."""
        target = Path(options["out"])
        if not target.parent.is_dir():
            raise CommandError(f"the folder {target.parent} does not exist.")
        try:
            job = self._written(_tenant(options["tenant"]), options)
            _hand_over(job, target)
        except ContextOSError as fault:
            raise CommandError(f"{fault}. {fault.remediation}") from fault
        self._say(job, target)

    def _written(self, tenant_id: str, options: dict[str, Any]) -> ExportJob:
        wanted = {name: options[f"filter_{name}"] for name in NAMES if options[f"filter_{name}"]}
        sample = {"size": options["sample"], "seed": options["seed"]} if options["sample"] else None
        request = ExportRequest(
            format=options["format"],
            filter=wanted,
            columns=[name for name in options["columns"].split(",") if name],
            sample=sample,
            held=True,
        )
        job = request_export(
            tenant_id=tenant_id, request=request, actor=ACTOR, window=everything(tenant_id)
        )
        return run_held(job, pulse=self._progress)

    def _progress(self, job: ExportJob) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{job.rows:,} records", ending="")

    def _say(self, job: ExportJob, target: Path) -> None:
        self.stdout.write(f"{target}: {job.rows} records, sha256 {job.sha256}")
        if not job.rows:
            self.stderr.write("No record matches the filter; the file is valid and empty.")
        if job.missing:
            self.stderr.write(f"{job.missing} records have no stored text and were left out.")
        if job.sample:
            self.stderr.write(f"Sample drawn with seed {job.sample['seed']}.")


def _tenant(named: str | None) -> str:
    if named:
        if not Tenant.objects.filter(pk=named).exists():
            raise CommandError(f"there is no tenant {named}.")
        return named
    found = list(Tenant.objects.values_list("tenant_id", flat=True)[:2])
    if len(found) != 1:
        raise CommandError("name the tenant with --tenant; there is not exactly one.")
    return str(found[0])


def _hand_over(job: ExportJob, target: Path) -> None:
    """Copy beside the target, then rename: the target is never half written."""
    beside = target.with_name(f".{target.name}.part")
    shutil.copyfile(files.path_of(job), beside)
    beside.replace(target)
    line = f"{job.sha256}  {target.name}\n"
    target.with_name(f"{target.name}.sha256").write_text(line, encoding="utf-8")
    remove_export(job)
