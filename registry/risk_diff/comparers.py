"""The few ways in which members are compared: limits, lists, switches and plain replacement."""

from collections.abc import Iterator, Sequence
from enum import Enum

from registry.risk_diff.place import Note, Place
from registry.risk_diff.types import Direction
from registry.risk_diff.values import is_absent, is_number, list_of, missing_from
from registry.risk_diff.wording import show, show_list, show_prose, warn_of_hidden

WIDENS, NARROWS = Direction.WIDENS, Direction.NARROWS
NEUTRAL, UNKNOWN = Direction.NEUTRAL, Direction.UNKNOWN


class Absent(Enum):
    """What it means when a list or limit is left out."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    # The normalised form writes an absent list as an empty one; both stand for everything.
    EMPTY_IS_EVERYTHING = "empty is everything"
    UNCLEAR = "unclear"


def replaced(
    place: Place,
    what: str,
    *,
    added: Direction = UNKNOWN,
    removed: Direction = UNKNOWN,
    changed: Direction = UNKNOWN,
) -> Iterator[Note]:
    """A value that has no order: it can only be new, gone or another."""
    if not place.differs:
        return
    before, after = is_absent(place.old), is_absent(place.new)
    if before and after:
        yield place.note(NEUTRAL, f"{what} is empty, now written in another way.")
    elif before:
        yield place.note(added, f"{what} is new: {show(place.new)}.")
    elif after:
        yield place.note(removed, f"{what} is removed; it was {show(place.old)}.")
    else:
        message = f"{what} changes from {show(place.old)} to {show(place.new)}."
        yield place.note(changed, message)


def prose(place: Place, what: str) -> Iterator[Note]:
    """A text that people or models read; what is invisible in it is spelt out."""
    if not place.differs:
        return
    old, new = show_prose(place.old), show_prose(place.new)
    warning = warn_of_hidden((place.old, place.new))
    yield place.note(UNKNOWN, f"{what} changes from {old} to {new}.{warning}")


def ceiling(
    place: Place,
    what: str,
    *,
    unit: str = "",
    absent: Absent = Absent.EVERYTHING,
    signed: bool = False,
) -> Iterator[Note]:
    """A limit from above: higher, or gone, widens.

    Many programs read 0 or -1 as "no limit", so those prove nothing; `signed` says that the
    limited value may itself be negative.
    """
    if not signed and place.differs and is_number(place.new) and place.new <= 0:
        message = f"{what} is now {show(place.new)}, which may be read as no limit at all."
        yield place.note(UNKNOWN, message)
    else:
        yield from _limit(place, what, unit, absent, higher_widens=True)


def floor(
    place: Place, what: str, *, unit: str = "", absent: Absent = Absent.EVERYTHING
) -> Iterator[Note]:
    """A limit from below: lower, or gone, widens."""
    yield from _limit(place, what, unit, absent, higher_widens=False)


def _limit(
    place: Place, what: str, unit: str, absent: Absent, *, higher_widens: bool
) -> Iterator[Note]:
    if not place.differs:
        return
    old, new = place.old, place.new
    suffix = f" {unit}" if unit else ""
    unclear = absent is Absent.UNCLEAR
    if is_number(old) and is_number(new):
        verb, widens = ("rises", higher_widens) if new > old else ("falls", not higher_widens)
        message = f"{what} {verb} from {show(old)} to {show(new)}{suffix}."
        yield place.note(WIDENS if widens else NARROWS, message)
    elif is_number(old) and is_absent(new):
        message = f"{what} is no longer set; it was {show(old)}{suffix}."
        yield place.note(UNKNOWN if unclear else WIDENS, message)
    elif is_absent(old) and is_number(new):
        message = f"{what} is set for the first time, to {show(new)}{suffix}."
        yield place.note(UNKNOWN if unclear else NARROWS, message)
    else:
        yield from replaced(place, what)


def grants(place: Place, what: str, *, absent: Absent = Absent.NOTHING) -> Iterator[Note]:
    """A list in which every entry allows something: longer widens."""
    if not place.differs:
        return
    old, new = list_of(place.old), list_of(place.new)
    if old is None or new is None:
        yield from replaced(place, what)
    elif absent is Absent.NOTHING or (old and new):
        yield from _list_changes(place, what, old, new, gained=WIDENS, lost=NARROWS)
    elif not old and not new:
        yield place.note(UNKNOWN, f"{what} are empty, now written in another way.")
    else:
        yield _emptied_or_filled(place, what, old, new, absent)


def _emptied_or_filled(
    place: Place, what: str, old: Sequence[object], new: Sequence[object], absent: Absent
) -> Note:
    left_out = is_absent(place.old) or is_absent(place.new)
    # Elsewhere an empty list may mean all or none: nobody can tell.
    clear = absent is Absent.EMPTY_IS_EVERYTHING or (absent is Absent.EVERYTHING and left_out)
    if old:
        message = f"{what} are no longer listed; they were {show_list(old)}."
        return place.note(WIDENS if clear else UNKNOWN, message)
    message = f"{what} are listed for the first time: {show_list(new)}."
    return place.note(NARROWS if clear else UNKNOWN, message)


def guards(place: Place, what: str) -> Iterator[Note]:
    """A list in which every entry demands something: shorter widens."""
    if not place.differs:
        return
    old, new = list_of(place.old), list_of(place.new)
    if old is None or new is None:
        yield from replaced(place, what)
        return
    yield from _list_changes(place, what, old, new, gained=NARROWS, lost=WIDENS)


def _list_changes(
    place: Place,
    what: str,
    old: Sequence[object],
    new: Sequence[object],
    *,
    gained: Direction,
    lost: Direction,
) -> Iterator[Note]:
    more, fewer = missing_from(new, old), missing_from(old, new)
    if more:
        yield place.note(gained, f"{what} now also include {show_list(more)}.")
    if fewer:
        yield place.note(lost, f"{what} no longer include {show_list(fewer)}.")
    if not more and not fewer:
        yield place.note(NEUTRAL, f"{what} are the same, now written in another way.")


def safeguard(place: Place, what: str) -> Iterator[Note]:
    """A switch that protects while it is on."""
    yield from _switch(place, what, protects=True)


def hazard(place: Place, what: str) -> Iterator[Note]:
    """A switch that is dangerous while it is on; left out means off."""
    yield from _switch(place, what, protects=False)


def _switch(place: Place, what: str, *, protects: bool) -> Iterator[Note]:
    if not place.differs:
        return
    old, new = place.old, place.new
    if not all(isinstance(value, bool) or is_absent(value) for value in (old, new)):
        yield from replaced(place, what, removed=WIDENS if protects else UNKNOWN)
    elif new is True:
        yield place.note(NARROWS if protects else WIDENS, f"{what} is switched on.")
    elif old is True:
        yield place.note(WIDENS if protects else NARROWS, f"{what} is switched off.")
    else:
        # Off and left out: the same for a hazard; for a safeguard the default decides.
        direction = UNKNOWN if protects else NEUTRAL
        yield place.note(direction, f"{what} stays off, now written in another way.")


def ranked(
    place: Place, what: str, order: Sequence[str], *, raised: Direction, lowered: Direction
) -> Iterator[Note]:
    """A word from an ordered vocabulary; any other word is unknown."""
    if not place.differs:
        return
    if place.old not in order or place.new not in order:
        yield from replaced(place, what, removed=WIDENS)
        return
    rose = order.index(str(place.new)) > order.index(str(place.old))
    verb = "rises" if rose else "falls"
    message = f"{what} {verb} from {show(place.old)} to {show(place.new)}."
    yield place.note(raised if rose else lowered, message)
