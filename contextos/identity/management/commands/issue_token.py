"""`manage.py issue_token`: a token for an agent or a person, alone on the first line of output."""

from __future__ import annotations

import argparse
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import automation
from contextos.core.modes import ApprovalMode
from contextos.identity.durations import parse_duration
from contextos.identity.models import User
from contextos.identity.services import IssuedGrant, issue_agent_token, issue_user_token

ACTOR = automation("manage.py issue_token")


class Command(BaseCommand):
    """Prints the token to stdout and everything else to stderr, so that scripts can take it."""

    help = "Issue a token for an agent or a person. The token is shown once and stored nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom for, where, and how much."""
        subject = parser.add_mutually_exclusive_group(required=True)
        subject.add_argument("--agent", metavar="A", help="agent id")
        subject.add_argument("--user", metavar="U", help="user name or user id")
        subject.add_argument("--adapter", metavar="X", help="external adapter id")
        parser.add_argument("--tenant", metavar="T", required=True, help="tenant id")
        parser.add_argument(
            "--scopes",
            type=_words,
            metavar="A,B",
            help="narrow the token to these capability ids, comma separated",
        )
        parser.add_argument(
            "--ttl",
            type=_duration,
            default=timedelta(hours=1),
            metavar="1h",
            help="lifetime: 90s, 15m, 1h, 7d or seconds; at most 30d (default 1h)",
        )
        parser.add_argument(
            "--max-mode",
            choices=[mode.value for mode in ApprovalMode],
            help="highest approval mode the token carries (default: the agent's)",
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue, print, explain."""
        try:
            grant = _issue(options)
        except ContextOSError as refusal:
            raise CommandError(f"{refusal} {refusal.remediation}") from refusal
        self.stdout.write(grant.token)
        row = grant.row
        self.stderr.write(
            f"{row.token_id}: {row} in {row.tenant_id}, up to {row.max_mode}, "
            f"until {format_time(row.expires_at)}."
        )


def _issue(options: dict[str, Any]) -> IssuedGrant:
    terms: dict[str, Any] = {
        "tenant_id": options["tenant"],
        "actor": ACTOR,
        "lifetime": options["ttl"],
        "scopes": options["scopes"],
        "max_mode": options["max_mode"],
    }
    if options["adapter"]:
        raise coded_error("token.adapter_unavailable")
    if options["agent"]:
        return issue_agent_token(agent_id=options["agent"], **terms)
    return issue_user_token(user=_person(options["user"]), **terms)


def _person(name: str) -> User:
    user = User.objects.filter(Q(username=name) | Q(user_id=name)).first()
    if user is None:
        raise coded_error("request.not_found", message=f"There is no person called {name}.")
    return user


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from fault
