"""One place in two manifests at once: what stood there, what stands there, how to note a change."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from contextos.core import json_pointer
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, member, same

if TYPE_CHECKING:
    from registry.risk_diff.schema.documents import Library

# Identity of a place, the same for both versions: keys of members, and for the entries of keyed
# lists and for schema documents a tuple that survives reordering and renaming.
Step: TypeAlias = str | tuple[str, ...]
Path: TypeAlias = tuple[Step, ...]
Tokens: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The same member in the old and the new manifest."""

    old: object
    new: object
    path: Path = ()
    old_tokens: Tokens = ()
    new_tokens: Tokens = ()
    subject: str = ""
    # A pinned place answers for everything below it under its own path: used where the two
    # sides have no common shape to descend into.
    pinned: bool = False
    # The schema documents of both manifests, for members that refer to them by name.
    library: "Library | None" = None

    @property
    def differs(self) -> bool:
        """Whether anything at all changed here."""
        return not same(self.old, self.new)

    @property
    def pointer(self) -> str:
        """Where a reader finds it: in the new manifest, else in the old one."""
        tokens = self.old_tokens if self.new is MISSING else self.new_tokens
        return json_pointer.join(tokens)

    def at(self, *names: str) -> "Place":
        """The place of a member, or of a member of a member."""
        place = self
        for name in names:
            place = place.step(name, member(place.old, name), member(place.new, name))
        return place

    def step(self, name: str, old: object, new: object) -> "Place":
        """A place one step down, with the values found there."""
        return Place(
            old,
            new,
            self.path if self.pinned else (*self.path, name),
            (*self.old_tokens, name),
            (*self.new_tokens, name),
            self.subject,
            self.pinned,
            self.library,
        )

    def members(self) -> Iterator[tuple[str, "Place"]]:
        """Every member that either side has, by name."""
        old = self.old if isinstance(self.old, dict) else {}
        new = self.new if isinstance(self.new, dict) else {}
        for name in dict.fromkeys((*new, *old)):
            yield name, self.at(name)

    def entries(self, *keys: str) -> Iterator["Place"]:
        """The entries of a keyed list, paired by the first of the keys that they carry."""
        old, new = _keyed(self.old, keys), _keyed(self.new, keys)
        for key in dict.fromkeys((*new, *old)):
            old_index, before = old.get(key, (0, MISSING))
            new_index, after = new.get(key, (0, MISSING))
            yield Place(
                before,
                after,
                (*self.path, key),
                (*self.old_tokens, old_index),
                (*self.new_tokens, new_index),
                key[0],
                library=self.library,
            )

    def about(self, subject: str) -> "Place":
        """The same place, told as being about something else."""
        return replace(self, subject=subject)

    def note(self, direction: Direction, message: str, *, why: str = "") -> "Note":
        """What changed here; the note answers for this place, so the catch-all will not."""
        return Note(self, direction, message, why, claims=(self.path,))


@dataclass(frozen=True, slots=True)
class Note:
    """A change as a rule sees it; the rule's id and reasoning are stamped on by the caller."""

    place: Place
    direction: Direction
    message: str
    why: str = ""
    rule: str = ""
    claims: tuple[Path, ...] = ()

    def claiming(self, *paths: Path) -> "Note":
        """The note, answering for further places as well."""
        return replace(self, claims=(*self.claims, *paths))

    def stamped(self, rule: str, why: str) -> "Note":
        """The note with its rule, unless it already carries one."""
        if self.rule:
            return self
        return replace(self, rule=rule, why=self.why or why)


def _keyed(value: object, keys: tuple[str, ...]) -> dict[tuple[str, ...], tuple[int, object]]:
    """Entries by key; repeated keys are told apart by count, entries without one by position."""
    entries: dict[tuple[str, ...], tuple[int, object]] = {}
    seen: Counter[str] = Counter()
    for index, entry in enumerate(value if isinstance(value, list) else ()):
        name = name_of(entry, keys)
        if name is None:
            entries[f"entry {index}", "unnamed"] = (index, entry)
            continue
        seen[name] += 1
        key = (name,) if seen[name] == 1 else (name, f"repeat {seen[name]}")
        entries[key] = (index, entry)
    return entries


def name_of(entry: object, keys: tuple[str, ...]) -> str | None:
    """The identity of an entry: a text is its own, an object has it in one of its members."""
    if isinstance(entry, str):
        return entry
    names = (member(entry, key) for key in keys)
    return next((name for name in names if isinstance(name, str)), None)
