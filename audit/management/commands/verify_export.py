"""`manage.py verify_export`: says what can be proved of an exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.export.checking import check_export
from contextos.identity.keyring import key_store


class Command(BaseCommand):
    """Exits with 1 unless everything that is claimed holds."""

    help = (
        "Check an exported file: a bundle (.zip or unpacked) against this installation's keys, "
        "any other file by its SHA-256, JSON lines also line by line."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to check."""
        parser.add_argument("file", metavar="FILE", help="a bundle, a folder, or an exported file")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Plain words, then the verdict."""
        report = check_export(Path(options["file"]), keys=key_store())
        for line in report.proved:
            self.stdout.write(f"proved      {line}")
        for line in report.open:
            self.stdout.write(f"not proved  {line}")
        for line in report.wrong:
            self.stderr.write(f"WRONG       {line}")
        if report.wrong:
            raise CommandError("do not rely on this file: it was changed, or is not ours.")
        self.stdout.write("The file is whole and holds what is listed above.")
