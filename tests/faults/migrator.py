"""`python -m tests.faults.migrator`: reads `APP NAME` lines, migrates there, answers with a line.

One process for many steps, since most of a step is the start of Python and Django.
"""

from __future__ import annotations

import sys

from contextos.startup import start_django


def main() -> int:
    """Until the input ends. A step that fails is told and leaves the schema as it was."""
    start_django()
    from django.core.management import CommandError, call_command
    from django.db import DatabaseError
    from django.db.migrations.exceptions import IrreversibleError

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        app, _, name = line.strip().partition(" ")
        try:
            call_command("migrate", app, *([name] if name else []), verbosity=0, interactive=False)
        except (DatabaseError, IrreversibleError, CommandError) as fault:
            said = f"{type(fault).__name__}: {fault}".replace("\n", " ")
            sys.stdout.write(f"{said}\n")
        else:
            sys.stdout.write("done\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
