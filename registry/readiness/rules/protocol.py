"""The pinned protocol version: known, current or with a reason; the server's features pinned."""

import re
from collections.abc import Iterator, Mapping

from registry.manifest import Manifest
from registry.manifest.access import mapping, text
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.words import show

MCP_BASELINE = "2025-11-25"
_MCP_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", MCP_BASELINE, "2026-07-28")
_ANY_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")
_KNOWN: Mapping[str, re.Pattern[str]] = {
    "mcp": re.compile("|".join(map(re.escape, _MCP_VERSIONS))),
    "openapi": re.compile(r"3\.[01](\.[0-9]+)?"),
    "a2a": re.compile(r"(0\.3|1\.0)(\.[0-9]+)?"),
    "function": _ANY_VERSION,
    "custom": _ANY_VERSION,
}
_EXPECTED: Mapping[str, str] = {
    "mcp": ", ".join(_MCP_VERSIONS),
    "openapi": "3.0.x or 3.1.x",
    "a2a": "0.3 or 1.0",
    "function": "a number such as 1.0",
    "custom": "a number such as 1.0",
}


def _version(manifest: Manifest) -> str:
    return text(manifest.document, "protocol_version")


@rule(
    "protocol_version.unknown",
    Severity.BLOCK,
    title="The protocol version is not known",
    why="A version nobody has tested can't be pinned.",
    fix="Pin a version the gateway speaks.",
)
def protocol_version_unknown(manifest: Manifest) -> Iterator[Complaint]:
    protocol = manifest.protocol
    if not _version(manifest) or not protocol:
        return
    version = manifest.document["protocol_version"]  # as written: it is sent to the server so
    known = _KNOWN.get(protocol)
    if known is None:
        message = f"The protocol {show(protocol)} is not known, so no version of it is."
        yield Complaint("/protocol", message, f"Use one of {', '.join(_KNOWN)}.")
    elif not known.fullmatch(version):
        message = f"{show(version)} is not a known version of {protocol}."
        yield Complaint("/protocol_version", message, f"Use {_EXPECTED[protocol]}.")


def _is_older(manifest: Manifest) -> bool:
    version = _version(manifest)
    return manifest.protocol == "mcp" and version in _MCP_VERSIONS and version < MCP_BASELINE


@rule(
    "protocol_version.older_without_reason",
    Severity.BLOCK,
    title="An older protocol version is pinned without a reason",
    why=f"{MCP_BASELINE} is the baseline; older versions lack protections that others rely on.",
    fix=f"Move to {MCP_BASELINE}, or say in `protocol_version_reason` why that is not possible.",
)
def protocol_version_older_without_reason(manifest: Manifest) -> Iterator[Complaint]:
    if _is_older(manifest) and not text(manifest.document, "protocol_version_reason"):
        message = f"{_version(manifest)} is older than {MCP_BASELINE}, and no reason is given."
        yield Complaint("/protocol_version", message)


@rule(
    "protocol_version.migration_notes_missing",
    Severity.WARN,
    title="Nothing is said about moving to the current protocol version",
    why="An exception without an end becomes the rule.",
    fix="Say in `migration_notes` how and when the adapter moves on.",
)
def protocol_version_migration_notes_missing(manifest: Manifest) -> Iterator[Complaint]:
    if _is_older(manifest) and not text(manifest.document, "migration_notes"):
        message = f"The manifest pins {_version(manifest)} and has no migration notes."
        yield Complaint("/migration_notes", message)


@rule(
    "server_capabilities.unpinned",
    Severity.WARN,
    title="The server's features are not pinned",
    why="Drift can only be noticed against what was pinned at discovery.",
    fix="Discover the server and keep what it declared in `server_capabilities`.",
)
def server_capabilities_unpinned(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.protocol == "mcp" and not mapping(manifest.document, "server_capabilities"):
        yield Complaint("/server_capabilities", "The manifest does not pin the server's features.")
