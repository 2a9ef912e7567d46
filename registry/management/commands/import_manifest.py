"""`manage.py import_manifest FILE --tenant T`: a manifest file becomes a draft with findings."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import automation
from contextos.core.text import single_line
from contextos.identity.models import Tenant
from registry.management.authors import default_author, named_author
from registry.management.manifest_files import EXIT_REFUSED, EXIT_UNREADABLE, read_file
from registry.models import AdapterVersion
from registry.services.manifests import create_draft

ACTOR = automation("manage.py import_manifest")


class Command(BaseCommand):
    """Prints the id of the draft alone on the first line, then what was found."""

    help = (
        "Make a draft from a manifest file. Exits 0 when nothing blocks it, 1 when the draft has "
        "blocking findings, 2 when nothing was imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which file, for whom, in whose name."""
        parser.add_argument("file", metavar="FILE", help="the manifest, or - for standard input")
        parser.add_argument("--tenant", metavar="T", required=True, help="tenant id")
        parser.add_argument(
            "--author",
            metavar="U",
            help="user name or id of the author, who may not approve it "
            "(default: the tenant's longest-serving manifest author)",
        )
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, print, say with the exit code whether it could be submitted."""
        data = read_file(options["file"])
        try:
            version = _import(data, options["tenant"], options["author"])
        except ContextOSError as refusal:
            message = f"Nothing was imported. {refusal} {refusal.remediation}"
            raise CommandError(message, returncode=EXIT_UNREADABLE) from None
        self.stdout.write(version.version_id)
        self._print_findings(version)
        if version.findings.filter(severity="block").exists():
            sys.exit(EXIT_REFUSED)

    def _print_findings(self, version: AdapterVersion) -> None:
        self.stdout.write(
            f"{version.adapter.adapter_id} {version.version} for {version.environment}: a draft by "
            f"{version.author.username} with {version.findings.count()} findings."
        )
        for finding in version.findings.all():
            place = finding.pointer or "/"
            self.stdout.write(
                f"{finding.severity:5}  {finding.rule}  {single_line(place)}\n"
                f"       {single_line(finding.message)} {single_line(finding.remediation)}"
            )


def _import(data: bytes, tenant_id: str, author: str | None) -> AdapterVersion:
    if not Tenant.objects.filter(pk=tenant_id).exists():
        raise coded_error("request.not_found", message=f"There is no tenant {tenant_id}.")
    person = named_author(author, tenant_id) if author else default_author(tenant_id)
    return create_draft(tenant_id=tenant_id, document=data, author=person, actor=ACTOR)
