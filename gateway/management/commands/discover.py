"""`manage.py discover ADAPTER`: a live MCP server becomes a draft version of its adapter."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import automation
from contextos.core.text import single_line
from contextos.identity.models import Tenant
from gateway.connectors.mcp.portal import close_sessions
from gateway.discovery import Discovery, discover
from registry.management.authors import default_author, named_author
from registry.models import Adapter

ACTOR = automation("manage.py discover")
EXIT_REFUSED, EXIT_NOTHING = 1, 2


class Command(BaseCommand):
    """Prints the id of the draft alone on the first line, then what was found."""

    help = (
        "Ask an adapter's MCP server what it offers and pin that into a draft; grants nothing. "
        "Exits 0 when nothing blocks the draft, 1 when it has blocking findings, 2 when there is "
        "none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which adapter, whose, and where its server stands."""
        parser.add_argument("adapter", metavar="ADAPTER", help="adapter id")
        parser.add_argument("--tenant", metavar="T", help="tenant id (default: the only one)")
        parser.add_argument("--environment", metavar="E", help="default: the newest version's")
        parser.add_argument(
            "--endpoint",
            metavar="REF",
            help="URL or endpoint://name, for an adapter without a version",
        )
        parser.add_argument(
            "--author",
            metavar="U",
            help="who is named as author (default: the longest-serving manifest author)",
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Discover, print, say with the exit code whether it could be submitted."""
        try:
            discovery = _discover(options)
        except ContextOSError as refusal:
            message = f"Nothing was drafted. {refusal} {refusal.remediation}"
            raise CommandError(message, returncode=EXIT_NOTHING) from None
        finally:
            close_sessions()
        self._print(discovery)
        if discovery.version.findings.filter(severity="block").exists():
            sys.exit(EXIT_REFUSED)

    def _print(self, discovery: Discovery) -> None:
        version, summary = discovery.version, discovery.summary()
        self.stdout.write(version.version_id)
        server = single_line(f"{summary['server']['name']} {summary['server']['version']}")
        self.stdout.write(
            f"{version.adapter.adapter_id} {version.version} for {version.environment}: a draft "
            f"from {server} with {summary['tools']} tools and {version.findings.count()} findings."
        )
        for what in ("added", "changed", "gone"):
            names = ", ".join(single_line(name) for name in summary[what]) or "none"
            self.stdout.write(f"{what:8} {names}")
        for finding in version.findings.all():
            place = single_line(finding.pointer or "/")
            self.stdout.write(f"{finding.severity:5}  {finding.rule}  {place}")


def _discover(options: dict[str, Any]) -> Discovery:
    tenant_id = options["tenant"] or _only_tenant(options["adapter"])
    named = options["author"]
    return discover(
        tenant_id=tenant_id,
        adapter_id=options["adapter"],
        author=named_author(named, tenant_id) if named else default_author(tenant_id),
        actor=ACTOR,
        environment=options["environment"],
        endpoint_ref=options["endpoint"],
    )


def _only_tenant(adapter_id: str) -> str:
    """The tenant that has such an adapter, where just one does; else the only tenant there is."""
    owners = Adapter.objects.filter(adapter_id=adapter_id).values_list("tenant_id", flat=True)
    found = list(owners[:2]) or list(Tenant.objects.values_list("pk", flat=True)[:2])
    if len(found) != 1:
        raise coded_error("request.not_found", message="Name the tenant with --tenant.")
    return str(found[0])
