"""Rules for keywords about lists: items, uniqueItems, contains."""

from collections.abc import Iterator

from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.compare import compare
from registry.risk_diff.schema.node import Node, absent_as_true, across
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, is_number, member
from registry.risk_diff.wording import show

_LIST_KEYWORDS = ("prefixItems", "items", "additionalItems")


@schema_rule("schema.items", *_LIST_KEYWORDS)
def check_items(node: Node) -> Iterator[Note]:
    """What is allowed in one entry of a list is allowed in all of them."""
    old, new = _positions(node.old), _positions(node.new)
    if old is None or new is None or node.keyword("additionalItems").differs:
        yield from _restructured(node)
        return
    if len(old) == len(new):
        yield from _compare_positions(node, old, new)
    else:
        yield from _compare_effective(node, old, new)
    yield from _compare_items(node)


def _positions(schema: object) -> list[object] | None:
    """The schemas of the first entries; None where lists are described in an older way."""
    prefix = member(schema, "prefixItems")
    if isinstance(member(schema, "items"), list):
        return None
    if prefix is MISSING:
        return []
    return prefix if isinstance(prefix, list) else None


def _restructured(node: Node) -> Iterator[Note]:
    for keyword in _LIST_KEYWORDS:
        if node.keyword(keyword).differs:
            message = f"{node.name}: the description of its entries ({keyword}) changes."
            yield node.note(keyword, Direction.UNKNOWN, message)


def _entry_label(node: Node) -> str:
    return f"{node.label}[]" if node.label else f"each entry of {node.name}"


def _compare_positions(node: Node, old: list[object], new: list[object]) -> Iterator[Note]:
    place = node.keyword("prefixItems")
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        entry = place.step(str(index), before, after)
        yield from compare(node.child(entry, _entry_label(node)))


def _compare_effective(node: Node, old: list[object], new: list[object]) -> Iterator[Note]:
    """A position without a schema of its own is checked by `items`."""
    place = node.keyword("prefixItems")
    direction = Direction.UNKNOWN if node.frame.unevaluated else Direction.NEUTRAL
    message = f"{node.name}: {len(new)} instead of {len(old)} entries have a schema of their own."
    yield node.note("prefixItems", direction, message)
    for index in range(max(len(old), len(new))):
        before, after = _effective(node.old, old, index), _effective(node.new, new, index)
        entry = across(node.place, before, after, place.path, ("prefixItems", index))
        yield from compare(node.child(entry, _entry_label(node)))


def _effective(schema: object, prefix: list[object], index: int) -> object:
    if index < len(prefix):
        return prefix[index]
    rest = member(schema, "items")
    return True if rest is MISSING else rest


def _compare_items(node: Node) -> Iterator[Note]:
    place = node.keyword("items")
    if place.old is MISSING and place.new is not MISSING and node.frame.unevaluated:
        message = f"{node.name}: its entries get a schema of their own."
        yield node.note("items", Direction.UNKNOWN, message)
    if place.old is not MISSING or place.new is not MISSING:
        yield from compare(node.child(absent_as_true(place), _entry_label(node)))


@schema_rule("schema.unique_items", "uniqueItems")
def check_unique_items(node: Node) -> Iterator[Note]:
    """Without it one entry may be repeated, and with it its effect."""
    place = node.keyword("uniqueItems")
    if not place.differs:
        return
    known = all(isinstance(value, bool) or value is MISSING for value in (place.old, place.new))
    if not known:
        direction, message = Direction.UNKNOWN, f"{node.name}: uniqueItems is not yes or no."
    elif place.new is True:
        direction, message = Direction.NARROWS, f"{node.name} may no longer repeat an entry."
    elif place.old is True:
        direction, message = Direction.WIDENS, f"{node.name} may now repeat an entry."
    else:
        direction, message = Direction.NEUTRAL, f"{node.name} may repeat an entry, as before."
    yield node.note("uniqueItems", direction, message)


@schema_rule("schema.contains", "contains", "minContains", "maxContains")
def check_contains(node: Node) -> Iterator[Note]:
    """A list that need not hold a certain entry, or may hold more of them, is checked less."""
    place = node.keyword("contains")
    if place.old is not MISSING and place.new is not MISSING:
        yield from compare(node.beside(place, exact=True))
        yield from _count(node, "minContains", 1, upper=False)
        yield from _count(node, "maxContains", None, upper=True)
    else:
        yield from _contains_appears(node, place)


def _contains_appears(node: Node, place: Place) -> Iterator[Note]:
    if place.new is MISSING and place.old is not MISSING:
        direction, message = Direction.WIDENS, "need no longer hold a certain entry."
    elif place.new is not MISSING:
        direction = Direction.UNKNOWN if node.frame.unevaluated else Direction.NARROWS
        message = "must now hold a certain entry."
    else:
        direction, message = Direction.UNKNOWN, "has counts for an entry that is not described."
    for keyword in ("contains", "minContains", "maxContains"):
        if node.keyword(keyword).differs:
            yield node.note(keyword, direction, f"{node.name} {message}")


def _count(node: Node, keyword: str, default: int | None, *, upper: bool) -> Iterator[Note]:
    place = node.keyword(keyword)
    if not place.differs:
        return
    old = default if place.old is MISSING else place.old
    new = default if place.new is MISSING else place.new
    message = f"{node.name}: {keyword} changes from {show(old)} to {show(new)}."
    yield node.note(keyword, _count_direction(old, new, upper=upper), message)


def _count_direction(old: object, new: object, *, upper: bool) -> Direction:
    if is_number(old) and is_number(new):
        if old == new:
            return Direction.NEUTRAL
        return Direction.WIDENS if (new > old) is upper else Direction.NARROWS
    if upper and old is None and is_number(new):
        return Direction.NARROWS
    return Direction.WIDENS if upper and new is None else Direction.UNKNOWN
