"""Checks a manifest file against every readiness rule; needs no database and no network."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from registry.manifest import MAX_MANIFEST_BYTES
from registry.readiness import Report, Severity, Verdict, lint_bytes
from registry.readiness.lines import Position, locate
from registry.readiness.plain_text import as_text
from registry.readiness.sarif import as_sarif

FORMATS = ("json", "text", "sarif")
EXIT_FAIL = 1
EXIT_UNREADABLE = 2


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
        data = _read(name)
        try:
            report = lint_bytes(data)
        except ContextOSError as error:
            message = f"{single_line(name)} is not a manifest. {error} {error.remediation}"
            raise CommandError(message, returncode=EXIT_UNREADABLE) from None
        chosen = options["format"] or ("text" if self.stdout.isatty() else "json")
        self._print(report, chosen, name=name, text=data.decode())
        if report.verdict is Verdict.FAIL:
            sys.exit(EXIT_FAIL)

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


def _read(name: str) -> bytes:
    """The file, but never more of it than a manifest may have."""
    try:
        if name == "-":
            return _some(sys.stdin.buffer)
        with Path(name).open("rb") as stream:
            return _some(stream)
    except OSError as fault:
        reason = fault.strerror or "it can't be read"
        message = f"{single_line(name)} can't be read: {reason}."
        raise CommandError(message, returncode=EXIT_UNREADABLE) from None


def _some(stream: BinaryIO) -> bytes:
    return stream.read(MAX_MANIFEST_BYTES + 1)
