"""One subschema in two versions, and the circumstances under which they are compared."""

from dataclasses import dataclass, field, replace
from enum import Enum

from registry.risk_diff.place import Note, Path, Place, Tokens
from registry.risk_diff.schema.sources import Source
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING
from registry.risk_diff.wording import show_text


class Role(Enum):
    """What a schema checks, and the words for it."""

    INPUT = ("the arguments", "a call", "argument")
    OUTPUT = ("the result", "a result", "result member")
    FORM = ("the form", "an answer", "form field")

    @property
    def whole(self) -> str:
        """The checked value itself."""
        return self.value[0]

    @property
    def carrier(self) -> str:
        """The thing that carries the checked values."""
        return self.value[1]

    @property
    def part(self) -> str:
        """One member of the checked value."""
        return self.value[2]


@dataclass(slots=True)
class Effort:
    """How many more subschemas will be compared: a hostile manifest must not cost minutes."""

    left: int = 20_000


@dataclass(slots=True)
class Trail:
    """What one comparison has already seen."""

    effort: Effort = field(default_factory=Effort)
    followed: set[tuple[object, ...]] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    gave_up: bool = False

    def is_new(self, step: tuple[object, ...]) -> bool:
        """Whether a reference is met for the first time; a second time it tells nothing new."""
        if step in self.followed:
            return False
        self.followed.add(step)
        return True

    def spend(self) -> bool:
        """Whether there is effort left for one more subschema."""
        self.effort.left -= 1
        return self.effort.left >= 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The circumstances of a comparison, the same for a subschema and most of what it holds."""

    role: Role
    old_source: Source
    new_source: Source
    # Where the two documents stand, for claims.
    base: Path
    # Below `not`, `oneOf` and the like, tighter can mean looser: only sameness says anything.
    exact: bool = False
    # With `unevaluated…` about, a keyword that looks at more can let more pass.
    unevaluated: bool = False
    trail: Trail = field(default_factory=Trail)

    def judged(self, direction: Direction) -> Direction:
        """What may be said of a change under these circumstances."""
        plain = self.old_source.is_plain and self.new_source.is_plain
        if self.exact or not plain:
            return Direction.WIDENS if self._is_certain(direction) else Direction.UNKNOWN
        return direction

    def _is_certain(self, direction: Direction) -> bool:
        return direction is Direction.WIDENS and not self.exact


@dataclass(frozen=True, slots=True)
class Node:
    """A subschema in the old and the new version."""

    place: Place
    frame: Frame
    label: str = ""
    depth: int = 0

    @property
    def old(self) -> object:
        """The subschema as it was."""
        return self.place.old

    @property
    def new(self) -> object:
        """The subschema as it is."""
        return self.place.new

    @property
    def name(self) -> str:
        """What people call the checked value."""
        return self.label or self.frame.role.whole

    @property
    def carried(self) -> str:
        """The checked value with the thing that carries it: `amount_inr a call may carry`."""
        return f"{self.label or 'value'} {self.frame.role.carrier} may carry"

    @property
    def member_word(self) -> str:
        """What a member of the checked value is called: an argument, or a member of something."""
        return f"member of {self.label}" if self.label else self.frame.role.part

    def keyword(self, name: str) -> Place:
        """The place of one keyword."""
        return self.place.at(name)

    def note(self, keyword: str, direction: Direction, message: str) -> Note:
        """A change of one keyword, judged under the circumstances."""
        return self.keyword(keyword).note(self.frame.judged(direction), message)

    def child(self, place: Place, label: str) -> "Node":
        """A subschema that applies to a part of the checked value."""
        return Node(place, self.frame, label, self.depth + 1)

    def beside(self, place: Place, *, exact: bool = False) -> "Node":
        """A subschema that applies to the checked value itself."""
        frame = replace(self.frame, exact=True) if exact else self.frame
        return Node(place, frame, self.label, self.depth + 1)

    def inside(self, part: str) -> str:
        """The label of a named part of the checked value."""
        shown = show_text(part)
        return f"{self.label}.{shown}" if self.label else shown


def absent_as_true(place: Place) -> Place:
    """The place with a missing subschema read as the one that accepts everything."""
    if place.old is not MISSING and place.new is not MISSING:
        return place
    old = True if place.old is MISSING else place.old
    new = True if place.new is MISSING else place.new
    return replace(place, old=old, new=new, pinned=True)


def across(place: Place, old: object, new: object, path: Path, tokens: Tokens) -> Place:
    """A place that compares subschemas standing at different spots; `path` answers for it."""
    return replace(
        place,
        old=old,
        new=new,
        path=path,
        old_tokens=(*place.old_tokens, *tokens),
        new_tokens=(*place.new_tokens, *tokens),
        pinned=True,
    )
