"""`manage.py create_keys`: the first signing key of every purpose that has none."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from contextos.identity.services import rotate_key

ACTOR = automation("manage.py create_keys")


class Command(BaseCommand):
    """Prepare a new installation; a second run changes nothing."""

    help = "Create the signing keys that don't exist yet; existing keys are left as they are."
    requires_system_checks: list[str] = []  # the checks ask for the very keys this creates

    def handle(self, *_: Any, **options: Any) -> None:
        """Create what is missing and say so."""
        try:
            created = [_create(purpose) for purpose in KeyPurpose if not key_store().keys(purpose)]
        except (ContextOSError, OSError) as refusal:
            raise CommandError(f"A signing key can't be created: {refusal}") from refusal
        for line in created or ["Every purpose has a key; nothing to create."]:
            self.stdout.write(line)


def _create(purpose: KeyPurpose) -> str:
    kid = rotate_key(purpose=purpose, actor=ACTOR, reason="first key")
    return f"{purpose.value}: {kid} created."
