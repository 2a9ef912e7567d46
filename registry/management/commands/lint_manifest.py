"""Checks a manifest file against every readiness rule; needs no database and no network."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contextos.core.errors import ContextOSError
from contextos.core.json_faults import fault_of
from contextos.core.json_places import Position, locate
from contextos.core.text import single_line
from registry.management.manifest_files import EXIT_REFUSED, EXIT_UNREADABLE, read_file
from registry.readiness import Report, Severity, Verdict, lint_bytes
from registry.readiness.plain_text import as_text
from registry.readiness.sarif import as_sarif

FORMATS = ("json", "text", "sarif")


class Command(BaseCommand):
    """`manage.py lint_manifest FILE`."""

    help = (
        "Check an adapter manifest against every readiness rule, offline. "
        "Exits 0 when nothing blocks, 1 when something does, 2 when the file can't be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the manifest, or - for standard input")
        parser.add_argument(
            "--format", choices=FORMATS, help="default: text on a terminal, else json"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["file"]
        data = read_file(name)
        try:
            report = lint_bytes(data)
        except ContextOSError as error:
            raise CommandError(_why(name, data, error), returncode=EXIT_UNREADABLE) from None
        chosen = options["format"] or ("text" if self.stdout.isatty() else "json")
        self._print(report, chosen, name=name, text=data.decode())
        if report.verdict is Verdict.FAIL:
            sys.exit(EXIT_REFUSED)

    def _print(self, report: Report, chosen: str, *, name: str, text: str) -> None:
        if chosen == "json":
            self._print_json(report.as_dict())
            return
        positions = locate(text, (finding.pointer for finding in report.findings))
        shown = "standard input" if name == "-" else name
        if chosen == "sarif":
            self._print_json(as_sarif(report, name=shown, positions=positions))
        else:
            self._print_text(report, shown, positions)

    def _print_json(self, value: Mapping[str, object]) -> None:
        # ASCII only, so that no terminal or pipe can garble it.
        self.stdout.write(json.dumps(value, indent=2))

    def _print_text(self, report: Report, name: str, positions: Mapping[str, Position]) -> None:
        lines = as_text(report, name=name, positions=positions, paint=self._paint)
        self.stdout.write("\n".join(lines))

    def _paint(self, severity: Severity, text: str) -> str:
        if not self.stdout.isatty():
            return text
        styles = {
            Severity.BLOCK: self.style.ERROR,
            Severity.WARN: self.style.WARNING,
            Severity.INFO: self.style.NOTICE,
        }
        return str(styles[severity](text))


def _why(name: str, data: bytes, error: ContextOSError) -> str:
    """What can't be read and where, after the error's code, by which scripts tell faults apart."""
    fault = fault_of(data.decode(errors="replace"), error)
    return f"{single_line(name)} is not a manifest. {error.code}: {fault}"
