"""Rules for what the adapter offers at all: capabilities, resources, prompts and the rest."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from registry.risk_diff.comparers import NARROWS, NEUTRAL, UNKNOWN, WIDENS
from registry.risk_diff.place import Note, Path, Place, name_of
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.schema.sources import Source
from registry.risk_diff.values import MISSING, member
from registry.risk_diff.wording import show_list, show_text

BINDINGS = (
    "mcp_tool_name", "openapi_operation_id", "a2a_skill_id", "function_name", "protocol_tool",
)  # fmt: skip

# Lists whose entries have an identity, and the members that carry it.
KEYED_LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "capabilities": ("capability_id",),
        "resources": ("uri",),
        "resource_templates": ("uri_template",),
        "prompts": ("prompt_id", "name"),
        "roots": ("uri", "path"),
        "elicitation": ("elicitation_id",),
    }
)
_SINGULAR = {
    "resources": "resource",
    "resource_templates": "resource template",
    "prompts": "prompt",
    "elicitation": "question to the user",
}


def entries(manifest: Place, name: str) -> Iterator[Place]:
    """The entries of a keyed list of the manifest, paired by identity."""
    return manifest.at(name).entries(*KEYED_LISTS[name])


def _tool_of(capability: object) -> set[str]:
    names = (member(capability, binding) for binding in BINDINGS)
    return {name for name in names if isinstance(name, str)}


def _schema_claims(place: Place, capability: object) -> list[Path]:
    """The schema documents that came, or went, with a capability."""
    if place.library is None:
        return []
    added = place.old is MISSING
    here = place.library.new if added else place.library.old
    there = place.library.old if added else place.library.new
    needed: set[str] = set()
    for name in ("input_schema_ref", "output_schema_ref"):
        reference = member(capability, name)
        if isinstance(reference, str) and reference in here:
            needed |= Source(reference, here[reference], here).mentioned()
    return [("schemas", (name, name)) for name in sorted(needed) if name not in there]


@rule("capability.added", Scope.MANIFEST, "capabilities")
def check_added(manifest: Place) -> Iterator[Note]:
    """A new capability is something an agent could not do before."""
    places = list(entries(manifest, "capabilities"))
    former = [place for place in places if place.new is MISSING]
    for place in places:
        if place.old is MISSING and not _former_names(place, former):
            mode = member(place.new, "approval_mode")
            kind = f" ({show_text(mode)})" if isinstance(mode, str) else ""
            message = f"{show_text(place.subject)}{kind} is a new capability."
            note = place.note(WIDENS, message)
            yield note.claiming(*_schema_claims(place, place.new))


@rule("capability.renamed", Scope.MANIFEST, "capabilities")
def check_renamed(manifest: Place) -> Iterator[Note]:
    """Rules and permissions name the capability; under another name they do not apply."""
    places = list(entries(manifest, "capabilities"))
    former = [place for place in places if place.new is MISSING]
    for place in places:
        names = _former_names(place, former) if place.old is MISSING else []
        if names:
            message = (
                f"{show_text(place.subject)} is a new capability for the tool that was known as"
                f" {show_list(names)}."
            )
            note = place.note(WIDENS, message)
            yield note.claiming(*_schema_claims(place, place.new))


def _former_names(place: Place, former: list[Place]) -> list[str]:
    tools = _tool_of(place.new)
    return [gone.subject for gone in former if tools & _tool_of(gone.old)]


@rule("capability.removed", Scope.MANIFEST, "capabilities")
def check_removed(manifest: Place) -> Iterator[Note]:
    """What is not offered any more cannot be called."""
    for place in entries(manifest, "capabilities"):
        if place.new is MISSING:
            message = f"{show_text(place.subject)} is no longer offered."
            note = place.note(NARROWS, message)
            yield note.claiming(*_schema_claims(place, place.old))


@rule("catalogue.added", Scope.MANIFEST, *_SINGULAR)
def check_entry_added(manifest: Place) -> Iterator[Note]:
    """More to read, more prompts to follow or more questions to users are new ways in."""
    for name, singular in _SINGULAR.items():
        for place in entries(manifest, name):
            if place.old is MISSING:
                yield place.note(WIDENS, f"{show_text(place.subject)} is a new {singular}.")


@rule("catalogue.removed", Scope.MANIFEST, *_SINGULAR)
def check_entry_removed(manifest: Place) -> Iterator[Note]:
    """What is not offered any more cannot be read, followed or asked."""
    for name, singular in _SINGULAR.items():
        for place in entries(manifest, name):
            if place.new is MISSING:
                message = f"The {singular} {show_text(place.subject)} is no longer offered."
                yield place.note(NARROWS, message)


@rule("roots.boundary", Scope.MANIFEST, "roots")
def check_roots(manifest: Place) -> Iterator[Note]:
    """Roots bound the files the server may see; no roots at all may mean no bounds."""
    unbounded = not _roots(manifest.new)
    for place in entries(manifest, "roots"):
        shown = show_text(place.subject)
        if place.old is MISSING:
            yield place.note(WIDENS, f"Files under {shown} are opened to the server.")
        elif place.new is MISSING:
            direction = UNKNOWN if unbounded else NARROWS
            yield place.note(direction, f"Files under {shown} are no longer opened to the server.")
        elif place.differs:
            yield place.note(UNKNOWN, f"What is said about the root {shown} changes.")


def _roots(manifest: object) -> list[object]:
    roots = member(manifest, "roots")
    return roots if isinstance(roots, list) else []


@rule("catalogue.order", Scope.MANIFEST, *KEYED_LISTS)
def check_order(manifest: Place) -> Iterator[Note]:
    """Entries are found by their identity; their order decides nothing."""
    for name, keys in KEYED_LISTS.items():
        yield from reordered(manifest.at(name), keys, f"The entries of {name}")


def reordered(place: Place, keys: tuple[str, ...], what: str) -> Iterator[Note]:
    """Whether the same entries stand in another order; what they say is left to other rules."""
    old, new = (_order(side, keys) for side in (place.old, place.new))
    if old != new and sorted(old) == sorted(new):
        yield Note(place, NEUTRAL, f"{what} stand in another order.")


def _order(value: object, keys: tuple[str, ...]) -> list[str]:
    listed = value if isinstance(value, list) else []
    return [name_of(entry, keys) or "" for entry in listed]
