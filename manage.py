#!/usr/bin/env python
"""Command line of ContextOS; turns configuration faults into one line and exit code 2."""

import os
import sys
from pathlib import Path


def main() -> int:
    """Prepare the environment, hand over to Django, explain what can't start."""
    if sys.version_info < (3, 11):  # noqa: UP036  people do start it with an older python3
        return _fail(f"ContextOS needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    try:
        from django.core.exceptions import ImproperlyConfigured
        from django.core.management import execute_from_command_line
        from django.db import OperationalError, ProgrammingError
    except ImportError:
        return _fail(
            "Django is not installed in this Python: run `make setup`, use .venv/bin/python."
        )
    from contextos.env import EnvironmentProblem, settings_module

    fault = _use_data_dir(sys.argv[1:])
    if fault:
        return _fail(fault)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module())
    try:
        execute_from_command_line(sys.argv)
    except EnvironmentProblem as problem:
        return _fail(*problem.lines)
    except ImproperlyConfigured as misconfigured:
        return _fail(str(misconfigured))
    except (OperationalError, ProgrammingError) as refused:
        if not _means_no_tables(refused):
            raise
        return _fail("the database has no tables yet, or old ones: run `manage.py migrate` first.")
    return 0


def _means_no_tables(fault: Exception) -> bool:
    return "no such table" in str(fault) or "does not exist" in str(fault)


def _fail(*lines: str) -> int:
    for line in lines:
        print(f"error: {line}", file=sys.stderr)
    return 2


def _use_data_dir(arguments: list[str]) -> str | None:
    """Take `--data-dir` before the settings load; returns a complaint or None."""
    folder = _option(arguments, "--data-dir")
    if folder is None:
        return None
    path = Path(folder).expanduser().resolve()
    if path.exists() and not path.is_dir():
        return f"--data-dir {folder} is a file, not a folder."
    making = arguments[0] == "demo"
    if not making and not path.is_dir():
        return (
            f"--data-dir {folder} does not exist; `manage.py demo --data-dir {folder}` makes one."
        )
    embedded = (path / "contextos.sqlite3").exists()
    elsewhere = {"DATABASE_URL", "DATABASE_URL_FILE"} & os.environ.keys()
    if not (making or embedded or elsewhere):
        return (
            f"--data-dir {folder} holds no installation: contextos.sqlite3 is not there, and no "
            "DATABASE_URL says where else."
        )
    os.environ["CONTEXTOS_DATA_DIR"] = str(path)
    os.environ.pop("CONTEXTOS_KEYS_DIR", None)
    if not making and embedded:
        os.environ.pop("DATABASE_URL", None)
    return None


def _option(arguments: list[str], name: str) -> str | None:
    for position, word in enumerate(arguments):
        if word.startswith(name + "="):
            return word.partition("=")[2]
        if word == name and position + 1 < len(arguments):
            return arguments[position + 1]
    return None


if __name__ == "__main__":
    sys.exit(main())
