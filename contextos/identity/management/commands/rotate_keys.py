"""`manage.py rotate_keys`: sign, or encrypt columns, with a new key; the old one is still read."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from contextos.core.signing import KeyPurpose
from contextos.identity.resealing import reseal_all
from contextos.identity.services import revoke_key, rotate_key

ACTOR = automation("manage.py rotate_keys")
FIELDS = "fields"


class Command(BaseCommand):
    """One purpose at a time, so that a rotation is always meant."""

    help = "Make a new signing key for a purpose; also makes the first one."
    requires_system_checks: list[str] = []  # a missing key is what it is run for

    def add_arguments(self, parser: CommandParser) -> None:
        """Which key, and why."""
        parser.add_argument(
            "--purpose",
            required=True,
            choices=[*(purpose.value for purpose in KeyPurpose), FIELDS],
            help=f"{FIELDS}: encrypt what is stored anew under the first of CONTEXTOS_FIELD_KEYS",
        )
        parser.add_argument("--reason", default="", help="kept in the log")
        parser.add_argument(
            "--revoke",
            metavar="KID",
            help="as --revoke=KID: stolen, nothing it signed counts any more; needs a reason",
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Rotate and say what happened."""
        if options["purpose"] == FIELDS:
            if options["revoke"]:
                raise CommandError("take the key out of CONTEXTOS_FIELD_KEYS after rotating.")
            self._reseal()
            return
        purpose = KeyPurpose(options["purpose"])
        try:
            kid = self._changed(purpose, options)
        except ContextOSError as refusal:
            raise CommandError(f"{refusal} {refusal.remediation}") from refusal
        self.stdout.write(f"{purpose.value}: {kid} signs from now on.")

    def _reseal(self) -> None:
        """Say how far it is: of values there may be millions, and it can be broken off."""
        for label, number in reseal_all(ACTOR, self._tell).items():
            self.stdout.write(f"{label}: {number} encrypted under the first key.")

    def _tell(self, label: str, done: int) -> None:
        if done and done % 10_000 == 0:
            self.stderr.write(f"{label}: {done} so far")

    def _changed(self, purpose: KeyPurpose, options: dict[str, Any]) -> str:
        if options["revoke"] is None:
            return rotate_key(purpose=purpose, actor=ACTOR, reason=options["reason"])
        if not options["reason"].strip():
            raise CommandError("--revoke needs --reason: it will be asked for.")
        kid = options["revoke"].strip()
        return revoke_key(purpose=purpose, kid=kid, actor=ACTOR, reason=options["reason"])
