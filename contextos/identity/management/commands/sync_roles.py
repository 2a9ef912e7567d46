"""`manage.py sync_roles`: makes the roles' permissions equal to what the code declares."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from contextos.identity.roles import ROLES, sync_roles


class Command(BaseCommand):
    """`migrate` does the same; this repairs permissions that somebody changed by hand."""

    help = "Write the seven roles and their permissions; running it twice changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where the data is."""
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write them all."""
        sync_roles()
        self.stdout.write(f"Roles are in step: {', '.join(ROLES)}.")
