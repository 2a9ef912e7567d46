"""Prepares a server process and refuses to start an unsafe one; servers run no checks."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from contextos.env import EnvironmentProblem, settings_module

EXIT_UNSAFE = 2


def prepare_process() -> None:
    """Choose settings, start Django, refuse what is unsafe: one line per fault, no traceback."""
    start_django()
    refuse_if_unsafe()


def start_django() -> None:
    """Load the settings that fit the environment and every application."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module())
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except EnvironmentProblem as problem:
        _refuse(problem.lines)
    except ImproperlyConfigured as fault:
        _refuse([str(fault)])


def preload() -> None:
    """Import before the first request what it would otherwise wait for; forks then share it."""
    from gateway.connectors import preload as preload_connectors

    preload_connectors()


def refuse_if_unsafe() -> None:
    """Exit with a line per error that `manage.py check` would report about this configuration."""
    from django.core.checks import ERROR

    from contextos.checks import all_messages

    errors = [message for message in all_messages() if message.level >= ERROR]
    if errors:
        _refuse([f"({error.id}) {error.msg} {error.hint or ''}".strip() for error in errors])


def refuse_without_broker() -> None:
    """Celery without a broker of its own would look for somebody else's on this machine."""
    from django.conf import settings

    if not settings.REDIS_URL:
        _refuse(["REDIS_URL is missing. Name a Redis, or use `manage.py run_embedded` instead."])


def _refuse(lines: list[str]) -> NoReturn:
    for line in lines:
        sys.stderr.write(f"error: {line}\n")
    raise SystemExit(EXIT_UNSAFE)
