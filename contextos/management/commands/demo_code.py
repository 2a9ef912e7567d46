"""`manage.py demo_code NAME`: prints the current six digits of a demo person."""

from __future__ import annotations

from argparse import ArgumentParser
from base64 import b32decode
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django_otp.oath import totp

from contextos.demo.people import load_or_make_sign_ins


class Command(BaseCommand):
    """Trying out without a phone; works only where the demo keeps its sign-ins."""

    help = "Print the six digits that a demo person's authenticator app would show now."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The person, and where the demo lives."""
        parser.add_argument("name", help="a demo person, for example admin")
        parser.add_argument("--data-dir", help="the demo's data directory")

    def handle(self, *_: Any, **options: Any) -> None:
        """Read the demo's own file; a real installation has none."""
        path = settings.DATA_DIR / "demo-sign-ins.json"
        sign_ins = load_or_make_sign_ins(path) if path.exists() else {}
        if options["name"] not in sign_ins:
            known = ", ".join(sign_ins) or "nobody: start `make run` first"
            raise CommandError(
                f"no demo person {options['name']!r}; there is {known}.", returncode=2
            )
        secret = b32decode(sign_ins[options["name"]]["otp_secret"])
        self.stdout.write(f"{totp(secret):06d}")
