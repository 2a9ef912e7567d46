"""What the pages of all drafts share: the text that was sent, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest

from contextos.core.json_faults import JsonFault
from contextos.core.json_places import locate
from contextos.review.findings import Finding, Severity
from contextos.review.version_pages import finding_row


def posted_text(request: HttpRequest, *, limit: int) -> str:
    """The document as it was sent: a chosen file, else the field; one byte over is read to tell."""
    upload = request.FILES.get("file")
    if upload is None or isinstance(upload, list):
        return request.POST.get("document", "")
    raw: bytes = upload.read(limit + 1)
    return raw.decode("utf-8", errors="replace")


def finding_rows(findings: Sequence[Finding], text: str | None = None) -> list[dict[str, str]]:
    """The findings as a page shows them; with the text, each with the line on which it shows."""
    rows = [finding_row(finding) for finding in findings]
    if text is not None:
        lines = locate(text, [finding.pointer for finding in findings])
        for row, finding in zip(rows, findings, strict=True):
            row["line"] = str(lines[finding.pointer].line)
    return rows


def count_by_severity(findings: Sequence[Finding]) -> dict[str, int]:
    """How many findings of each severity there are."""
    found = [finding.severity for finding in findings]
    return {severity.value: found.count(severity) for severity in Severity}


def check_report(
    rows: list[dict[str, str]],
    counts: dict[str, int],
    fault: JsonFault | None,
    *,
    steps: Mapping[int, int] | None = None,
    faults: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What the script shows: findings with their place, or the fault that hides them."""
    unread = fault and {"message": fault.message, "line": fault.line, "column": fault.column}
    return {
        "findings": rows,
        "counts": counts,
        "steps": dict(steps or {}),
        "faults": dict(faults or {}),
        "fault": unread,
    }
