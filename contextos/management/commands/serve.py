"""`manage.py serve`: the production web server."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from contextos.serve import PortTakenError, ServerPlan, serve
from contextos.startup import refuse_if_unsafe

_ASGI_TARGET = "contextos.asgi:application"


class Command(BaseCommand):
    """Serve the admin and REST with threads, or `--asgi` for long-lived connections."""

    help = "Serve ContextOS until SIGTERM or SIGINT; requests in flight are finished first."
    requires_system_checks: list[str] = []  # refuse_if_unsafe prints one line per fault instead

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen and how many requests to work on at once."""
        plan = ServerPlan()
        parser.add_argument("--host", default=plan.host, help="address to listen on (%(default)s)")
        parser.add_argument("--port", type=int, default=plan.port, help="port (%(default)s)")
        parser.add_argument(
            "--threads",
            type=_positive,
            default=plan.threads,
            help="threads per worker (%(default)s)",
        )
        parser.add_argument(
            "--workers", type=_positive, default=plan.workers, help="processes (%(default)s)"
        )
        parser.add_argument("--asgi", action="store_true", help="serve the ASGI application")

    def handle(self, *_: Any, **options: Any) -> None:
        """Refuse what is unsafe, then serve."""
        refuse_if_unsafe()
        connections.close_all()  # workers are forked: a shared connection would mix their answers
        try:
            serve(_plan(options))
        except PortTakenError as fault:
            raise CommandError(str(fault), returncode=2) from fault


def _plan(options: dict[str, Any]) -> ServerPlan:
    plan = {name: options[name] for name in ("host", "port", "threads", "workers")}
    plan["log_level"] = settings.LOG_LEVEL.lower()
    if options["asgi"]:
        return ServerPlan(**plan, target=_ASGI_TARGET, asynchronous=True)
    return ServerPlan(**plan)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError("at least 1")
    return value
