"""`manage.py rotate_keys`: sign with a new key; what the old one signed goes on verifying."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from contextos.core.signing import KeyPurpose
from contextos.identity.services import rotate_key

ACTOR = automation("manage.py rotate_keys")


class Command(BaseCommand):
    """One purpose at a time, so that a rotation is always meant."""

    help = "Make a new signing key for a purpose; also makes the first one."
    requires_system_checks: list[str] = []  # a missing key is what it is run for

    def add_arguments(self, parser: CommandParser) -> None:
        """Which key, and why."""
        parser.add_argument(
            "--purpose", required=True, choices=[purpose.value for purpose in KeyPurpose]
        )
        parser.add_argument("--reason", default="", help="kept in the log")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Rotate and say what happened."""
        purpose = KeyPurpose(options["purpose"])
        try:
            kid = rotate_key(purpose=purpose, actor=ACTOR, reason=options["reason"])
        except ContextOSError as refusal:
            raise CommandError(f"{refusal} {refusal.remediation}") from refusal
        self.stdout.write(f"{purpose.value}: {kid} signs from now on.")
