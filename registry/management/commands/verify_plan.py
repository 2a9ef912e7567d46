"""`manage.py verify_plan FILE`: the critic's verdict on a plan, offline and without a database."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core.errors import ContextOSError
from contextos.core.strict_json import loads_object
from registry.management.manifest_files import EXIT_REFUSED, EXIT_UNREADABLE, read_file
from registry.plans import verify_plan

# A pack with many inline schemas is larger than a request body may be.
_MAX_BYTES = 16 * 1024 * 1024


class Command(BaseCommand):
    """Exit code 0 means ok, 1 replan or reject, 2 that the file can't be judged."""

    help = "Check a plan against a pack. FILE holds {plan, pack, run?}; - reads standard input."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, and nothing else."""
        parser.add_argument("file", metavar="FILE", help="JSON: {plan, pack, run?}")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the verdict as JSON; say why where there is none."""
        data = read_file(options["file"], limit=_MAX_BYTES)
        try:
            document = loads_object(data, max_bytes=_MAX_BYTES)
            verdict = verify_plan(document.get("plan"), document.get("pack"), document.get("run"))
        except ContextOSError as error:
            message = f"{error} {error.remediation}"
            raise CommandError(message, returncode=EXIT_UNREADABLE) from error
        self.stdout.write(json.dumps(verdict.document(), indent=2, ensure_ascii=False))
        if verdict.verdict != "ok":
            sys.exit(EXIT_REFUSED)
