"""What the page of a reviewed version shows: tabs, findings, and whether its signature holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core.text import reveal_invisible
from contextos.review.document_text import anchor_of
from contextos.review.document_versions import DocumentVersion
from contextos.review.signed_documents import open_document

_GROUPS = (
    ("block", "Blocking", "They stop the submission. Fix each one and save."),
    ("warn", "Warnings", "A reviewer has to tick each of them to approve."),
    ("info", "Notes", "For your information; nothing has to be done."),
)
FindingGroup = tuple[str, str, str, list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab; tabs are links, so they work without any script and can be sent to somebody."""

    key: str
    title: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class SignatureStatus:
    """Whether the signature holds at this very moment, and whose it is."""

    text: str
    tone: str
    kid: str = ""


def signature_status(version: DocumentVersion) -> SignatureStatus:
    """Checked anew for every page: a stored 'verified' would prove nothing."""
    if version.envelope is None:
        return SignatureStatus("not signed yet: publication signs it", "neutral")
    signed = signed_by(version.envelope)
    opened = open_document(version)
    if opened.signature_valid is None:  # retired: nothing runs on it any more
        return SignatureStatus("signed, not in use any more", "neutral", signed)
    if opened.problem is not None:
        return SignatureStatus(f"signature refused: {opened.problem}", "danger", signed)
    return SignatureStatus("signature verified now", "success", signed)


def signed_by(envelope: Mapping[str, Any]) -> str:
    """The ids of the keys."""
    return ", ".join(str(item.get("keyid", "")) for item in envelope["signatures"])


def finding_row(finding: Any) -> dict[str, str]:
    """A finding with its link into the document; quoted parts of the document made visible."""
    given = finding if isinstance(finding, Mapping) else _members(finding)
    row = {name: reveal_invisible(str(value)) for name, value in given.items()}
    return {**row, "pointer": row["pointer"] or "/", "anchor": anchor_of(str(given["pointer"]))}


def finding_groups(findings: Iterable[Any]) -> list[FindingGroup]:
    """(severity, title, what to do, rows), the blocking ones first."""
    rows = [finding_row(finding) for finding in findings]
    return [
        (key, title, hint, [row for row in rows if row["severity"] == key])
        for key, title, hint in _GROUPS
    ]


def _members(finding: Any) -> dict[str, Any]:
    names = ("rule", "severity", "pointer", "message", "remediation")
    return {name: getattr(finding, name) for name in names}
