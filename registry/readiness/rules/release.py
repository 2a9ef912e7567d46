"""What a release needs beside the contract: how it goes out and how it comes back."""

from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import text
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity


@rule(
    "release.notes_missing",
    Severity.WARN,
    title="Rollout or rollback notes are missing",
    why="Whoever is on call must know how this version goes out and how it is taken back.",
    fix="Write `rollout_notes` and `rollback_notes`.",
)
def release_notes_missing(manifest: Manifest) -> Iterator[Complaint]:
    for name in ("rollout_notes", "rollback_notes"):
        if not text(manifest.document, name):
            yield Complaint(f"/{name}", f"`{name}` is missing.")


@rule(
    "release.errors_undeclared",
    Severity.INFO,
    title="A capability declares no errors",
    why="Declared errors tell the gateway and the model what to retry, replan or hand to a person.",
    fix="List the error codes with kind, retryability and remediation in `errors`.",
)
def release_errors_undeclared(manifest: Manifest) -> Iterator[Complaint]:
    for capability in manifest.capabilities:
        if not capability.raw.get("errors"):
            yield Complaint(capability.at("errors"), "The capability declares no errors.")
