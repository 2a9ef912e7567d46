"""`manage.py sign TARGET`: sign a manifest file, or show and check the signature of a version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from contextos.core import strict_json
from contextos.core.canonical import canonicalise, digest_bytes
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import is_id
from contextos.core.signing import KeyPurpose
from contextos.core.text import single_line
from contextos.review.signatures import open_signed, sign_document, type_for_tenant
from registry.management.manifest_files import EXIT_REFUSED, EXIT_UNREADABLE, read_file
from registry.manifest import MAX_MANIFEST_BYTES
from registry.models import AdapterVersion
from registry.selectors import PAYLOAD_TYPE, signed_manifest

# Base64 makes a document a third longer, and the envelope has members of its own.
_MAX_ENVELOPE_BYTES = 2 * MAX_MANIFEST_BYTES


class Command(BaseCommand):
    """Uses the key for manifests in the key folder; a published version keeps its own envelope."""

    help = (
        "Sign a manifest file as a DSSE envelope with the key for manifests; or, given the id of a "
        "version (adv_...), check its signature and print its envelope. With --verify, check an "
        "envelope against the file or version. Exits 1 when a signature is refused, 2 when "
        "something can't be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to sign or check, and where to put the envelope."""
        parser.add_argument("target", metavar="VERSION_ID|FILE", help="a version, or a manifest")
        parser.add_argument("--verify", metavar="ENVELOPE", help="check this envelope instead")
        parser.add_argument(
            "--tenant", metavar="T", help="bind the signature of a file to a tenant, as publishing"
        )
        parser.add_argument("--out", metavar="FILE", help="write the envelope there")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check an envelope, or get one: by signing a file, or from a version."""
        target, out = options["target"], options["out"]
        try:
            if is_id(target, "adv"):
                version = _version(target)
                self._of_version(version, options["verify"], out)
            else:
                payload_type = _payload_type(options["tenant"])
                self._of_file(_document(target), payload_type, options["verify"], out)
        except ContextOSError as refusal:
            message = f"{refusal} {refusal.remediation}"
            raise CommandError(message, returncode=EXIT_REFUSED) from None

    def _of_version(self, version: AdapterVersion, envelope: str | None, out: str | None) -> None:
        if envelope is not None:
            self._verify(_envelope(envelope), version.digest, _payload_type(version.tenant_id))
            return
        signed_manifest(version)  # refuses what is unsigned or was changed
        self._write(version.envelope or {}, out)
        self.stderr.write(f"Good signature over {version.digest}.")

    def _of_file(
        self, document: bytes, payload_type: str, envelope: str | None, out: str | None
    ) -> None:
        digest = digest_bytes(document)
        if envelope is not None:
            self._verify(_envelope(envelope), digest, payload_type)
            return
        made = sign_document(document, payload_type=payload_type, purpose=KeyPurpose.MANIFESTS)
        self._write(made, out)
        self.stderr.write(f"Signed {digest} with key {made['signatures'][0]['keyid']}.")

    def _verify(self, envelope: dict[str, Any], digest: str, payload_type: str) -> None:
        open_signed(
            envelope, digest=digest, payload_type=payload_type, purpose=KeyPurpose.MANIFESTS
        )
        self.stdout.write(f"Good signature over {digest}.")

    def _write(self, envelope: dict[str, Any], out: str | None) -> None:
        text = json.dumps(envelope, indent=2)
        if out is None:
            self.stdout.write(text)
            return
        try:
            Path(out).write_text(text + "\n", encoding="utf-8")
        except OSError as fault:
            message = f"{single_line(out)} can't be written: {fault.strerror}."
            raise CommandError(message, returncode=EXIT_UNREADABLE) from None


def _payload_type(tenant_id: str | None) -> str:
    return type_for_tenant(PAYLOAD_TYPE, tenant_id) if tenant_id else PAYLOAD_TYPE


def _version(version_id: str) -> AdapterVersion:
    found = AdapterVersion.objects.select_related("adapter").filter(pk=version_id).first()
    if found is None:
        refusal = coded_error("request.not_found", message=f"There is no version {version_id}.")
        raise CommandError(str(refusal), returncode=EXIT_UNREADABLE)
    return found


def _document(name: str) -> bytes:
    try:
        return canonicalise(strict_json.loads_object(read_file(name), max_bytes=MAX_MANIFEST_BYTES))
    except ContextOSError as refusal:
        message = f"{single_line(name)} is not a manifest. {refusal} {refusal.remediation}"
        raise CommandError(message, returncode=EXIT_UNREADABLE) from None


def _envelope(name: str) -> dict[str, Any]:
    try:
        data = read_file(name, limit=_MAX_ENVELOPE_BYTES)
        return dict(strict_json.loads_object(data, max_bytes=_MAX_ENVELOPE_BYTES))
    except ContextOSError as refusal:
        message = f"{single_line(name)} is not an envelope. {refusal} {refusal.remediation}"
        raise CommandError(message, returncode=EXIT_UNREADABLE) from None
