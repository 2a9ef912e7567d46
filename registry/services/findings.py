"""Lints a draft and keeps what was found beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from registry.models import AdapterVersion, Finding
from registry.readiness import lint_document

_BATCH = 500
_LONGEST_POINTER = 500


def rewrite_findings(version: AdapterVersion, manifest: Mapping[str, Any]) -> None:
    """Replace the findings of a draft; their pointers are places in the normalised manifest."""
    version.findings.all().delete()
    report = lint_document(manifest)
    Finding.objects.bulk_create(
        (
            Finding(
                version=version,
                position=position,
                rule=found.rule,
                severity=found.severity.value,
                pointer=found.pointer[:_LONGEST_POINTER],
                message=found.message,
                remediation=found.remediation,
            )
            for position, found in enumerate(report.findings)
        ),
        batch_size=_BATCH,
    )
