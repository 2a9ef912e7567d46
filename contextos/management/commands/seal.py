"""`manage.py seal`: the process that seals the log and holds its private key."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.lag import late_tenants
from audit.sealer import Sealer
from contextos.core.errors import ContextOSError
from contextos.startup import refuse_if_unsafe


class Command(BaseCommand):
    """Seal in the foreground."""

    help = (
        "Put new records under signed checkpoints until SIGTERM or SIGINT; what waits then is "
        "sealed first. Any number may run; each log is sealed by one at a time."
    )
    requires_system_checks: list[str] = []  # refuse_if_unsafe prints one line per fault instead

    def add_arguments(self, parser: CommandParser) -> None:
        """Once, or until stopped."""
        parser.add_argument("--once", action="store_true", help="seal what waits now, then end")
        parser.add_argument(
            "--check", action="store_true", help="only say whether sealing keeps up"
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Start, wait for a signal, seal the tail."""
        if options["check"]:
            self._check()
            return
        refuse_if_unsafe()
        sealer = Sealer()
        if options["once"]:
            self._seal_once(sealer)
            return
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        sealer.run(stopping)

    def _check(self) -> None:
        late = late_tenants()
        for lag in late:
            self.stderr.write(f"{lag.tenant_id}: waits for {lag.seconds:.1f} s")
        if late:
            raise CommandError("sealing is behind.")
        self.stdout.write("Sealing keeps up.")

    def _seal_once(self, sealer: Sealer) -> None:
        try:
            complete = sealer.seal_tail()
        except ContextOSError as fault:
            raise CommandError(f"{fault} {fault.remediation}") from fault
        if not complete:
            raise CommandError("something still waits; the lines above tell why.")
        self.stdout.write("Nothing waits: every record stands under a signed checkpoint.")
