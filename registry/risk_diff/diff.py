"""The risk diff of two manifest versions: all rules asked, then the catch-all, put in order."""

from collections.abc import Iterator

from registry.risk_diff.place import Note, Place
from registry.risk_diff.remainder import Claims, remaining
from registry.risk_diff.rulebook import EVERY_MEMBER, Scope, apply_concerned, apply_rules, describe
from registry.risk_diff.rules.catalogue import KEYED_LISTS, entries
from registry.risk_diff.schema import Library
from registry.risk_diff.types import Change, Direction, RiskDiff
from registry.risk_diff.values import MISSING, same
from registry.risk_diff.wording import as_sentence, show_text

_SCOPES = {
    Scope.CAPABILITY: "capabilities",
    Scope.RESOURCE: "resources",
    Scope.TEMPLATE: "resource_templates",
    Scope.PROMPT: "prompts",
    Scope.ELICITATION: "elicitation",
}
# Members that name a schema, and so may have changed although they read the same.
_SCHEMA_MEMBERS = frozenset(
    {"input_schema_ref", "output_schema_ref", "input_schema", "output_schema", "schema"}
)
_FIRST = describe(
    "manifest.first_version",
    Scope.MANIFEST,
    "Nothing of a first version has been reviewed before, so all of it is new.",
    EVERY_MEMBER,
)


def diff_manifests(old: dict[str, object] | None, new: dict[str, object]) -> RiskDiff:
    """What the new manifest allows, or may allow, that the old one did not, and the reverse.

    Both are normalised documents. Without an old one everything counts as new.
    """
    notes = list(_first_version(new) if old is None else _between(old, new))
    changes = [_change(note) for note in notes]
    return RiskDiff(tuple(sorted(changes, key=lambda change: change.direction.rank)))


def _between(old: dict[str, object], new: dict[str, object]) -> Iterator[Note]:
    library = Library.of(old, new)
    manifest = Place(old, new, library=library)
    notes = [*apply_rules(Scope.MANIFEST, manifest), *_entry_notes(manifest, library)]
    yield from notes
    yield from remaining(manifest, library, Claims.of(notes))


def _entry_notes(manifest: Place, library: Library) -> Iterator[Note]:
    shelf = frozenset() if same(library.old, library.new) else _SCHEMA_MEMBERS
    for scope, name in _SCOPES.items():
        for entry in entries(manifest, name):
            if entry.old is not MISSING and entry.new is not MISSING:
                changed = {name for name, place in entry.members() if place.differs}
                if changed or shelf:
                    yield from apply_concerned(scope, entry, shelf | changed)


def _first_version(new: dict[str, object]) -> Iterator[Note]:
    """Entries of the lists one by one, as new ones; every other member as never reviewed."""
    manifest = Place({}, new, library=Library.of({}, new))
    for note in apply_rules(Scope.MANIFEST, manifest):
        if note.direction is Direction.WIDENS and note.place.path[0] in KEYED_LISTS:
            yield note
    for name, place in manifest.members():
        if name not in KEYED_LISTS or not isinstance(place.new, list):
            message = f"First version: {show_text(name)} has never been reviewed."
            yield place.note(Direction.WIDENS, message).stamped(_FIRST.id, _FIRST.why)


def _change(note: Note) -> Change:
    place = note.place
    return Change(
        rule=note.rule,
        direction=note.direction,
        pointer=place.pointer,
        subject=place.subject,
        before=_value(place.old),
        after=_value(place.new),
        message=as_sentence(note.message),
        why=note.why,
    )


def _value(side: object) -> object:
    return None if side is MISSING else side
