"""Rules for keywords that bound a size: numbers, lengths, counts."""

from collections.abc import Iterator
from dataclasses import dataclass

from registry.risk_diff.place import Note
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.node import Node
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, is_number, member
from registry.risk_diff.wording import show

_WIDENS, _NARROWS = Direction.WIDENS, Direction.NARROWS


@dataclass(frozen=True, slots=True)
class _Edge:
    """The last value allowed on one side; `open_end` leaves that value itself out."""

    value: float
    open_end: bool

    def __str__(self) -> str:
        return f"{show(self.value)}{' (itself not allowed)' if self.open_end else ''}"


class _UnreadableError(Exception):
    """A bound that is not a number."""


@schema_rule("schema.largest", "maximum", "exclusiveMaximum")
def check_largest(node: Node) -> Iterator[Note]:
    """A higher ceiling lets one call move more."""
    yield from _edges(node, "maximum", "exclusiveMaximum", "largest", upper=True)


@schema_rule("schema.smallest", "minimum", "exclusiveMinimum")
def check_smallest(node: Node) -> Iterator[Note]:
    """A lower floor lets values through that were refused before, negative ones among them."""
    yield from _edges(node, "minimum", "exclusiveMinimum", "smallest", upper=False)


def _edges(node: Node, closed: str, opened: str, word: str, *, upper: bool) -> Iterator[Note]:
    if not node.keyword(closed).differs and not node.keyword(opened).differs:
        return
    keyword = closed if node.keyword(closed).differs else opened
    try:
        old, new = (_edge(side, closed, opened, upper=upper) for side in (node.old, node.new))
    except _UnreadableError:
        message = f"{node.name}: its {word} value is not a number."
        note = node.note(keyword, Direction.UNKNOWN, message)
    else:
        direction, message = _edge_change(node, word, old, new, upper=upper)
        note = node.note(keyword, direction, message)
    yield note.claiming(node.keyword(closed).path, node.keyword(opened).path)


def _edge(schema: object, closed: str, opened: str, *, upper: bool) -> _Edge | None:
    edges = []
    for keyword, open_end in ((closed, False), (opened, True)):
        value = member(schema, keyword)
        if value is MISSING:
            continue
        if not is_number(value):
            raise _UnreadableError
        edges.append(_Edge(value, open_end))
    # The tighter of the two counts; of equal ones, the one that leaves the value out.
    tightest = min if upper else max
    if not edges:
        return None
    return tightest(edges, key=lambda edge: (edge.value, edge.open_end is not upper))


def _edge_change(
    node: Node, word: str, old: _Edge | None, new: _Edge | None, *, upper: bool
) -> tuple[Direction, str]:
    if new is None:
        return _WIDENS, f"{node.name} no longer has a {word} value; it was {old}."
    if old is None:
        return _NARROWS, f"{node.name} gets a {word} value: {new}."
    if old == new:
        message = f"{node.name}: the same {word} value, now written in another way."
        return Direction.NEUTRAL, message
    if old.value == new.value:
        direction = _NARROWS if new.open_end else _WIDENS
        return direction, f"The {word} {node.carried} changes from {old} to {new}."
    rose = new.value > old.value
    verb = "rises" if rose else "falls"
    message = f"The {word} {node.carried} {verb} from {old} to {new}."
    return (_WIDENS if rose is upper else _NARROWS), message


@schema_rule("schema.size_limit", "maxLength", "maxItems", "maxProperties")
def check_size_limit(node: Node) -> Iterator[Note]:
    """A longer text or list carries more than reviewers allowed for."""
    yield from _size(node, "maxLength", "The greatest length of {}", upper=True)
    yield from _size(node, "maxItems", "The greatest number of entries in {}", upper=True)
    yield from _size(node, "maxProperties", "The greatest number of members in {}", upper=True)


@schema_rule("schema.size_minimum", "minLength", "minItems", "minProperties")
def check_size_minimum(node: Node) -> Iterator[Note]:
    """A shorter text or list passes where it was refused before, an empty one in the end."""
    yield from _size(node, "minLength", "The least length of {}", upper=False)
    yield from _size(node, "minItems", "The least number of entries in {}", upper=False)
    yield from _size(node, "minProperties", "The least number of members in {}", upper=False)


def _size(node: Node, keyword: str, phrase: str, *, upper: bool) -> Iterator[Note]:
    place = node.keyword(keyword)
    if not place.differs:
        return
    what = phrase.format(node.name)
    old, new = place.old, place.new
    if is_number(new) and new < 0:
        yield node.note(keyword, Direction.UNKNOWN, f"{what} is {show(new)}, which limits nothing.")
    elif is_number(old) and is_number(new):
        rose = new > old
        message = f"{what} {'rises' if rose else 'falls'} from {show(old)} to {show(new)}."
        yield node.note(keyword, _WIDENS if rose is upper else _NARROWS, message)
    elif is_number(old) and new is MISSING:
        message = f"{what} is no longer limited; it was {show(old)}."
        yield node.note(keyword, _WIDENS, message)
    elif old is MISSING and is_number(new):
        yield node.note(keyword, _NARROWS, f"{what} is now limited to {show(new)}.")
    else:
        message = f"{what} changes from {show(old)} to {show(new)}."
        yield node.note(keyword, Direction.UNKNOWN, message)
