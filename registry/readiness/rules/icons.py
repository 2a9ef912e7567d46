"""Icons are untrusted: only schemes that can be fetched and checked safely."""

from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import sequence, text
from registry.manifest.origins import member
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.hosts import scheme_of
from registry.readiness.words import show

_SAFE_DATA = ("data:image/png", "data:image/jpeg", "data:image/gif", "data:image/webp")
_SVG = "data:image/svg+xml"


def _icons(manifest: Manifest) -> Iterator[tuple[str, str]]:
    owners = [("", manifest.document)]
    owners.extend((item.pointer, item.raw) for item in manifest.capabilities)
    for name in ("resources", "resource_templates", "prompts"):
        owners.extend(manifest.parts(name))
    for pointer, owner in owners:
        for index, icon in enumerate(sequence(owner, "icons")):
            place = member(pointer, "icons", index)
            if isinstance(icon, str):
                yield place, icon.strip()
            elif isinstance(icon, dict):
                yield member(place, "src"), text(icon, "src")


@rule(
    "icon.unsafe_scheme",
    Severity.BLOCK,
    title="An icon has an unsafe address",
    why="An icon is shown to people; an address such as javascript: or file: would act or leak.",
    fix="Use an https address or an inline image (data:image/png).",
)
def icon_unsafe_scheme(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, address in _icons(manifest):
        if address and not _is_safe(address, relaxed=manifest.is_relaxed):
            yield Complaint(pointer, f"The icon address {show(address)} is not safe.")


def _is_safe(address: str, *, relaxed: bool) -> bool:
    scheme = scheme_of(address)
    if scheme == "data":
        return address.strip().lower().startswith((*_SAFE_DATA, _SVG))
    if not scheme:
        return not address.strip().startswith(("//", "\\\\"))
    return scheme == "https" or (scheme == "http" and relaxed)


@rule(
    "icon.doubtful",
    Severity.WARN,
    title="An icon can't be shown as it is",
    why="A relative address has no host to be fetched from, and SVG can carry scripts; both are "
    "left out.",
    fix="Use an https address or an inline PNG.",
)
def icon_doubtful(manifest: Manifest) -> Iterator[Complaint]:
    for pointer, address in _icons(manifest):
        lowered = address.strip().lower()
        relative = bool(address) and not scheme_of(address) and not lowered.startswith(("//", "\\"))
        if relative or lowered.startswith(_SVG):
            yield Complaint(pointer, f"The icon {show(address)} will not be shown.")
