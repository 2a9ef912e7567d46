"""`manage.py erase`: show what an erasure would do; with --yes ask for it and carry it out."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.erasing import decision_behind
from audit.erasure import Foreseen, foresee, refusal_of, request_erasure
from audit.management.acting import acting_person
from audit.roles import ERASERS
from audit.selections import Selection
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError, coded_error


class Command(BaseCommand):
    """Nothing is erased without --yes; the person named by --by answers for it."""

    help = "Erase the values of decisions; their records and proofs stay. Not undone by anything."

    def add_arguments(self, parser: CommandParser) -> None:
        """What, why, and in whose name."""
        parser.add_argument("--tenant", metavar="T", required=True, help="tenant id")
        parser.add_argument("--decision", metavar="D", default="", help="decision id")
        parser.add_argument("--call", metavar="C", default="", help="tool call id")
        for name in ("run", "user", "agent", "capability"):
            parser.add_argument(f"--{name}", metavar=name[0].upper(), default="", help=f"{name} id")
        parser.add_argument("--since", type=_moment, help="not before this RFC 3339 moment")
        parser.add_argument("--until", type=_moment, help="before this RFC 3339 moment")
        parser.add_argument("--reason", default="", help="kept in the log; leave the value out")
        parser.add_argument("--by", metavar="U", required=True, help="user name of who does it")
        parser.add_argument("--yes", action="store_true", help="do it, not only show it")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Look ahead, and with --yes erase."""
        try:
            actor = acting_person(options["by"], options["tenant"], roles=ERASERS)
            selection = _selection(options)
            self._tell(selection, foresee(selection))
            if not options["yes"]:
                self.stdout.write("Nothing was erased. Add --yes and --reason to do it.")
                return
            done = request_erasure(selection=selection, reason=options["reason"], actor=actor)
            refused = refusal_of(done)
        except ContextOSError as refusal:
            raise CommandError(f"{refusal} {refusal.remediation}") from refusal
        self.stdout.write(
            f"{done.pk}: {done.payloads} values of {done.decisions} decisions erased."
        )
        if refused is not None:
            raise CommandError(f"{refused} {refused.remediation}")

    def _tell(self, selection: Selection, seen: Foreseen) -> None:
        if not seen.decisions:
            raise coded_error("erasure.nothing_found")
        more = " or more" if seen.is_part else ""
        self.stdout.write(f"Covers {selection.in_words()}.")
        self.stdout.write(f"{seen.decisions}{more} decisions with {seen.payloads}{more} values.")
        for sentence, number in seen.consequences.items():
            self.stdout.write(f"{number}{more} {sentence}.")
        if seen.held:
            self.stdout.write(f"{seen.held}{more} decisions are kept by a legal hold.")


def _selection(options: dict[str, Any]) -> Selection:
    decision_id = options["decision"]
    if options["call"]:
        decision_id = decision_behind(options["tenant"], options["call"])
        if not decision_id:
            raise coded_error("erasure.nothing_found")
    return Selection(
        tenant_id=options["tenant"],
        decision_id=decision_id,
        run_id=options["run"],
        user_id=options["user"],
        agent_id=options["agent"],
        capability_id=options["capability"],
        since=options["since"],
        until=options["until"],
    )


def _moment(text: str) -> datetime:
    try:
        return parse_time(text)
    except ContextOSError as fault:
        raise argparse.ArgumentTypeError(fault.message) from fault
