"""`manage.py demo`: makes the demo world, starts every process, stops them cleanly."""

from __future__ import annotations

import json
import os
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from contextos.demo.readiness import PAUSE_SECONDS, answers_ready
from contextos.demo.ready_file import write_private
from contextos.demo.supervisor import ProcessSpec, Supervisor, free_port_beside, port_is_free
from contextos.demo.upstreams import payments_token_file
from contextos.demo.world import World, build_world
from contextos.startup import refuse_if_unsafe

READY_WITHIN_SECONDS = 90
FUNCTION_MODULES = ("contextos.demo.functions", "contextos.demo.desk")


class Command(BaseCommand):
    """Start the product with demo data."""

    help = "Start ContextOS with demo data on this machine; Ctrl-C stops everything it started."
    requires_system_checks: list[str] = []  # refuse_if_unsafe prints one line per fault instead

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Port, data directory and ready-file."""
        parser.add_argument("--port", default="8000", help="loopback port (default 8000)")
        parser.add_argument("--data-dir", help="folder for database, keys and sign-ins")
        parser.add_argument("--ready-file", help="JSON written when everything answers")

    def handle(self, *_: Any, **options: Any) -> None:
        """Prepare, start, announce, wait, stop."""
        port, ready_file = _port(options["port"]), options["ready_file"]
        refuse_if_unsafe()
        self._refuse_a_bad_start(port)
        waiting_port = free_port_beside(port)
        payments_port = free_port_beside(waiting_port)
        world = self._prepare(payments_port)
        processes = [_payments(payments_port), *_processes(port, waiting_port)]
        supervisor = Supervisor(processes, _child_environment(port))
        supervisor.stop_on_signals()
        try:
            supervisor.start()
            ports = (port, waiting_port, payments_port)
            if all(self._wait(supervisor, each) for each in ports):
                self._announce(world, port, waiting_port, Path(ready_file) if ready_file else None)
                self._report_end(supervisor.wait())
        finally:
            supervisor.stop()
            if ready_file:
                Path(ready_file).unlink(missing_ok=True)
            self.stderr.write("demo: stopped.")

    def _refuse_a_bad_start(self, port: int) -> None:
        if not port_is_free(port):
            raise CommandError(
                f"port {port} is in use: stop what listens there or choose another, "
                f"for example `make run PORT={port + 1 if port < 65535 else 8001}`.",
                returncode=2,
            )
        folder: Path = settings.DATA_DIR
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise CommandError(
                f"{folder} can't be made: {fault.strerror}.", returncode=2
            ) from fault
        if not os.access(folder, os.W_OK):
            raise CommandError(
                f"{folder} is read-only: choose a writable folder with --data-dir.", returncode=2
            )

    def _prepare(self, payments_port: int) -> World:
        self.stderr.write(f"demo: preparing {settings.DATA_DIR} ...")
        try:
            call_command("migrate", verbosity=0, interactive=False)
        except OperationalError as fault:
            place = connection.settings_dict["NAME"]
            raise CommandError(
                f"the database {place} can't be used: {fault}", returncode=2
            ) from fault
        return build_world(payments_url=f"http://127.0.0.1:{payments_port}/mcp")

    def _wait(self, supervisor: Supervisor, port: int) -> bool:
        started = time.monotonic()
        while time.monotonic() - started < READY_WITHIN_SECONDS:
            if supervisor.stopping.is_set():
                return False
            self._report_end(supervisor.first_dead())
            if answers_ready(port):
                return True
            supervisor.stopping.wait(PAUSE_SECONDS)
        raise CommandError("the web server did not answer in time; see the log lines above.")

    def _report_end(self, dead: tuple[str, int] | None) -> None:
        if dead:
            name, code = dead
            raise CommandError(f"the {name} process ended with code {code}; see the lines above.")

    def _announce(
        self, world: World, port: int, waiting_port: int, ready_file: Path | None
    ) -> None:
        url = f"http://127.0.0.1:{port}"
        ready = world.ready_object(url=url)
        if ready_file:
            write_private(ready_file, ready)
        self.stderr.write(world.greeting(url=url, waiting_url=f"http://127.0.0.1:{waiting_port}"))
        if not self.stdout.isatty():  # for scripts; a person has just read the greeting
            self.stdout.write(json.dumps(ready))
            self.stdout.flush()


def _port(given: object) -> int:
    """A number that a port can have; `make run PORT=abc` gets one sentence, not a usage text."""
    text = str(given).strip()
    port = int(text) if text.isascii() and text.isdigit() and len(text) <= 5 else 0
    if not 1 <= port <= 65535:
        message = f"{text[:40]!r} is not a port: choose 1 to 65535, for example PORT=8010."
        raise CommandError(message, returncode=2)
    return port


def _processes(port: int, waiting_port: int) -> list[ProcessSpec]:
    web = ProcessSpec("web", ["serve", "--port", str(port)])
    waits = ProcessSpec("long-poll", ["serve", "--asgi", "--port", str(waiting_port)], revived=True)
    return [web, waits, *_workers()]


def _payments(port: int) -> ProcessSpec:
    """A server that is not ours, as far as the gateway knows."""
    ledger = settings.DATA_DIR / "payments-ledger.sqlite3"
    where = ["--port", str(port), "--ledger", str(ledger)]
    token = ["--token-file", str(payments_token_file())]
    return ProcessSpec("payments", [*where, *token], "contextos.demo.payments", revived=True)


def _workers() -> list[ProcessSpec]:
    if not settings.CELERY_BROKER_URL:
        return [ProcessSpec("worker", ["run_embedded"], revived=True, ends_last=True)]
    celery = ["-A", "contextos.celery", "-q"]
    schedule = str(settings.DATA_DIR / "celerybeat-schedule")
    worker = [*celery, "worker", "--concurrency", "4", "--loglevel", "WARNING", "-P", "prefork"]
    beat = [*celery, "beat", "--schedule", schedule, "--loglevel", "WARNING", "--pidfile="]
    return [
        ProcessSpec("worker", worker, "celery", revived=True),
        ProcessSpec("beat", beat, "celery", revived=True),
        ProcessSpec("sealer", ["seal"], revived=True, ends_last=True),
    ]


def _with(ours: Iterable[str], given: Iterable[str]) -> str:
    return ",".join(dict.fromkeys((*ours, *given)))


def _child_environment(port: int) -> dict[str, str]:
    return {
        **os.environ,
        "CONTEXTOS_DATA_DIR": str(settings.DATA_DIR),
        "CONTEXTOS_PUBLIC_URL": f"http://127.0.0.1:{port}",
        # The demo's functions beside those of whoever tries out their own.
        "CONTEXTOS_FUNCTION_MODULES": _with(FUNCTION_MODULES, settings.CONTEXTOS_FUNCTION_MODULES),
        "CONTEXTOS_LOG_FORMAT": os.environ.get("CONTEXTOS_LOG_FORMAT", "console"),
        "CONTEXTOS_LOG_LEVEL": os.environ.get("CONTEXTOS_LOG_LEVEL", "WARNING"),
        # Files come from static/ here, so WhiteNoise need not miss a collected folder.
        "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "ignore:No directory at:UserWarning"),
    }
