"""`manage.py match_value`: shows that a value is the one a record commits to, or that it is not."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.management.acting import acting_person
from audit.matching import compare_value, matches_with_salt, release_salt, stored_values
from audit.payloads import MAX_BYTES, MAX_DEPTH
from audit.roles import SALT_READERS
from contextos.core import strict_json
from contextos.core.errors import ContextOSError


class Command(BaseCommand):
    """With --salt and --commitment it needs no database at all: that is how an outsider checks."""

    help = "Compare a JSON value with a commitment; list or release what is needed for that."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Which commitment, and how it is to be checked."""
        parser.add_argument("file", nargs="?", help="the value as JSON; - reads standard input")
        parser.add_argument("--commitment", help="sha256:... as the record says it")
        parser.add_argument("--salt", type=_salt, help="64 hexadecimal characters, as released")
        parser.add_argument("--tenant", metavar="T", help="tenant id")
        parser.add_argument("--decision", metavar="D", help="list the values of this decision")
        parser.add_argument("--payload", metavar="P", help="compare with this stored value")
        parser.add_argument("--release-salt", action="store_true", help="print the value's salt")
        parser.add_argument("--by", metavar="U", help="user name of who does it")
        parser.add_argument("--reason", default="", help="why a salt is released; kept in the log")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """One of four: list, release, compare here, compare as an outsider."""
        try:
            if options["salt"] is not None:
                same = matches_with_salt(
                    value=_value(options),
                    salt=options["salt"],
                    commitment=_need(options, "commitment"),
                )
            elif options["payload"] is None:
                self._list(_need(options, "tenant"), _need(options, "decision"))
                return
            elif options["release_salt"]:
                self._release(options)
                return
            else:
                same = self._compare(options)
        except ContextOSError as refusal:
            raise CommandError(f"{refusal} {refusal.remediation}") from refusal
        if not same:
            raise CommandError("The value does not match the commitment.")
        self.stdout.write("The value matches the commitment.")

    def _list(self, tenant_id: str, decision_id: str) -> None:
        for row in stored_values(tenant_id=tenant_id, decision_id=decision_id):
            gone = " erased" if row.erased_at else ""
            self.stdout.write(f"{row.payload_id} {row.kind} {row.commitment}{gone}")

    def _release(self, options: dict[str, Any]) -> None:
        tenant_id = _need(options, "tenant")
        released = release_salt(
            tenant_id=tenant_id,
            payload_id=options["payload"],
            reason=options["reason"],
            actor=acting_person(_need(options, "by"), tenant_id, roles=SALT_READERS),
        )
        self.stdout.write(released.salt)
        self.stderr.write(f"Salt of {released.kind} under {released.commitment}.")

    def _compare(self, options: dict[str, Any]) -> bool:
        tenant_id = _need(options, "tenant")
        return compare_value(
            tenant_id=tenant_id,
            payload_id=options["payload"],
            value=_value(options),
            actor=acting_person(_need(options, "by"), tenant_id, roles=SALT_READERS),
        )


def _value(options: dict[str, Any]) -> Any:
    name = _need(options, "file")
    content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    return strict_json.loads(content, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)


def _need(options: dict[str, Any], name: str) -> str:
    if not options[name]:
        raise CommandError(f"Name the {name} too; --help lists what goes together.")
    return str(options[name])


def _salt(text: str) -> bytes:
    try:
        return bytes.fromhex(text.strip())
    except ValueError as fault:
        raise argparse.ArgumentTypeError("The salt is not hexadecimal.") from fault
