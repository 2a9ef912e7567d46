"""Local adapters: the command is disclosed, the user consents, the process is boxed in."""

from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import is_true, mapping, texts
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity

_LOCAL_KINDS = frozenset({"stdio", "mcpb"})
_WHOLE_DISK = frozenset({"/", "/*", "~", "*", "c:\\", "c:/"})


def _is_local(manifest: Manifest) -> bool:
    return manifest.transport_kind in _LOCAL_KINDS


@rule(
    "stdio.command_not_disclosed",
    Severity.BLOCK,
    title="The command of a local adapter is not disclosed",
    why="Whoever installs it must see exactly what will run on their machine.",
    fix="Give the full command line in `command` and set `command_disclosed` to true.",
)
def stdio_command_not_disclosed(manifest: Manifest) -> Iterator[Complaint]:
    if not _is_local(manifest):
        return
    if not texts(manifest.transport, "command"):
        yield Complaint("/transport/command", "The exact command line is not given.")
    elif not is_true(manifest.transport, "command_disclosed"):
        message = "The manifest does not promise that the command is shown before it runs."
        yield Complaint("/transport/command_disclosed", message)


@rule(
    "stdio.consent_missing",
    Severity.WARN,
    title="A local adapter installs without consent",
    why="Running a program on someone's machine is their decision.",
    fix='Declare `"install_consent": {"required": true, "shown_to": ...}`.',
)
def stdio_consent_missing(manifest: Manifest) -> Iterator[Complaint]:
    consent = mapping(manifest.transport, "install_consent")
    if _is_local(manifest) and not is_true(consent, "required"):
        yield Complaint("/transport/install_consent", "Installation does not require consent.")


@rule(
    "stdio.sandbox_missing",
    Severity.WARN,
    title="A local adapter declares no sandbox",
    why="A local process can otherwise read every file and reach every host its user can.",
    fix="Declare `sandbox` with the paths in `filesystem` and what `network` it needs.",
)
def stdio_sandbox_missing(manifest: Manifest) -> Iterator[Complaint]:
    if not _is_local(manifest):
        return
    sandbox = mapping(manifest.transport, "sandbox")
    missing = [name for name in ("filesystem", "network") if sandbox.get(name) is None]
    if missing:
        listed = " and ".join(f"`{name}`" for name in missing)
        yield Complaint("/transport/sandbox", f"The sandbox does not limit {listed}.")


@rule(
    "stdio.sandbox_open",
    Severity.WARN,
    title="The sandbox of a local adapter holds the whole disk",
    why="A box around everything is no box.",
    fix="List only the folders the adapter works in.",
)
def stdio_sandbox_open(manifest: Manifest) -> Iterator[Complaint]:
    if not _is_local(manifest):
        return
    paths = texts(mapping(manifest.transport, "sandbox"), "filesystem")
    if any(path.strip().lower() in _WHOLE_DISK for path in paths):
        message = "The sandbox gives access to the whole file system."
        yield Complaint("/transport/sandbox/filesystem", message)
