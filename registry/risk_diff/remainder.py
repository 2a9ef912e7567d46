"""The catch-all: every difference that no rule has answered for, so that nothing passes unseen."""

from collections.abc import Iterator
from dataclasses import dataclass

from registry.risk_diff.place import Note, Path, Place
from registry.risk_diff.rulebook import Scope, describe
from registry.risk_diff.rules.catalogue import KEYED_LISTS
from registry.risk_diff.schema import Library
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING
from registry.risk_diff.wording import show, show_text

_MAX_DEPTH = 64
_UNRECOGNISED = describe(
    "manifest.unrecognised",
    Scope.REMAINDER,
    "No rule knows what this member means, so nobody can say that the change is harmless.",
    "any other member",
)


@dataclass(frozen=True, slots=True)
class Claims:
    """The places that notes have answered for, and the places above those."""

    places: frozenset[Path]
    above: frozenset[Path]

    @classmethod
    def of(cls, notes: list[Note]) -> "Claims":
        """The claims of all notes."""
        places = {path for note in notes for path in note.claims}
        above = {path[:end] for path in places for end in range(len(path))}
        return cls(frozenset(places), frozenset(above))


def remaining(manifest: Place, library: Library, claims: Claims) -> Iterator[Note]:
    """A note for each difference that nothing else explains."""
    for place in _unclaimed(manifest, library, claims):
        name = show_text(".".join(_spoken(step) for step in place.path) or "manifest")
        message = f"{name} changes from {show(place.old)} to {show(place.new)}."
        note = place.note(Direction.UNKNOWN, message)
        yield note.stamped(_UNRECOGNISED.id, _UNRECOGNISED.why)


def _spoken(step: str | tuple[str, ...]) -> str:
    return step if isinstance(step, str) else step[-1 if len(step) > 1 else 0]


def _unclaimed(manifest: Place, library: Library, claims: Claims) -> Iterator[Place]:
    if not isinstance(manifest.old, dict) or not isinstance(manifest.new, dict):
        if manifest.differs:
            yield manifest
        return
    for name, place in manifest.members():
        if name == "schemas" and _are_libraries(place):
            for document in _documents(place, library):
                yield from _search(document, claims)
        else:
            yield from _search(place, claims)


def _are_libraries(place: Place) -> bool:
    return all(side is MISSING or isinstance(side, dict) for side in (place.old, place.new))


def _documents(place: Place, library: Library) -> Iterator[Place]:
    """Schema documents under their own names, and those compared across a change of name."""
    paired = {name for pair in library.pairs for name in pair}
    for name, document in place.members():
        if name in paired and MISSING in (document.old, document.new):
            continue
        yield _document(document, (name, name))
    for old, new in sorted(library.pairs):
        if old != new:
            before, after = library.old.get(old, MISSING), library.new.get(new, MISSING)
            both = Place(before, after, (), ("schemas", old), ("schemas", new))
            yield _document(both, (old, new))


def _document(place: Place, pair: tuple[str, str]) -> Place:
    return Place(
        place.old, place.new, ("schemas", pair), place.old_tokens, place.new_tokens, pair[1]
    )


def _search(place: Place, claims: Claims, depth: int = 0) -> Iterator[Place]:
    if place.path in claims.places or not place.differs:
        return
    inner = _parts(place, claims) if depth < _MAX_DEPTH else None
    if inner is None:
        yield place
        return
    for part in inner:
        yield from _search(part, claims, depth + 1)


def _parts(place: Place, claims: Claims) -> list[Place] | None:
    """The parts in which to look for the difference; None where this place is the difference."""
    old, new = place.old, place.new
    shapes = {type(side) for side in (old, new) if side is not MISSING}
    # Something new or gone as a whole is one difference, unless a rule looked inside.
    if MISSING in (old, new) and place.path not in claims.above:
        return None
    if shapes == {dict}:
        return [part for _, part in place.members()] or None
    if shapes == {list} and _keys_of(place.path):
        return list(place.entries(*_keys_of(place.path))) or None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [place.step(str(index), before, after) for index, (before, after) in pairs]
    return None


def _keys_of(path: Path) -> tuple[str, ...]:
    if len(path) == 1 and isinstance(path[0], str):
        return KEYED_LISTS.get(path[0], ())
    if len(path) == 3 and path[0] == "capabilities" and path[2] == "errors":
        return ("code",)
    return ()
