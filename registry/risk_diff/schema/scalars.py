"""Rules for keywords about single values: type, enum, const, pattern, format."""

from collections.abc import Iterator

from registry.risk_diff.patterns import PatternOrder, compare_patterns
from registry.risk_diff.place import Note
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.node import Node
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, is_number, member, missing_from, same
from registry.risk_diff.wording import show, show_list, show_text

_TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})
_BY_ORDER = {
    PatternOrder.SAME: Direction.NEUTRAL,
    PatternOrder.NARROWER: Direction.NARROWS,
    PatternOrder.WIDER: Direction.WIDENS,
    PatternOrder.UNPROVEN: Direction.UNKNOWN,
}


@schema_rule("schema.type", "type")
def check_type(node: Node) -> Iterator[Note]:
    """A further type lets values through that were refused before."""
    place = node.keyword("type")
    if not place.differs:
        return
    old, new = _types(place.old), _types(place.new)
    if old is None or new is None:
        yield node.note("type", Direction.UNKNOWN, f"{node.name}: its type is not a known one.")
        return
    gained, lost = _beyond(new, old), _beyond(old, new)
    if gained:
        message = f"{node.name} may now also be of type {show_list(sorted(gained))}."
        yield node.note("type", Direction.WIDENS, message)
    if lost:
        message = f"{node.name} may no longer be of type {show_list(sorted(lost))}."
        yield node.note("type", Direction.NARROWS, message)
    if not gained and not lost:
        message = f"{node.name}: the same types, now written in another way."
        yield node.note("type", Direction.NEUTRAL, message)


def _types(value: object) -> frozenset[str] | None:
    if value is MISSING:
        return _TYPES
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    found = frozenset(names)
    # Every integer is a number.
    return found | {"integer"} if "number" in found else found


def _beyond(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    beyond = some - others
    return beyond - {"integer"} if "number" in beyond else beyond


@schema_rule("schema.choices", "enum", "const")
def check_choices(node: Node) -> Iterator[Note]:
    """A further choice is a further thing that can be asked for."""
    if not node.keyword("enum").differs and not node.keyword("const").differs:
        return
    if not _is_readable(node.old) or not _is_readable(node.new):
        for keyword in ("enum", "const"):
            if node.keyword(keyword).differs:
                message = f"{node.name}: its list of choices is not a list."
                yield node.note(keyword, Direction.UNKNOWN, message)
        return
    for note in _choice_changes(node, _choices(node.old), _choices(node.new)):
        yield note.claiming(node.keyword("enum").path, node.keyword("const").path)


def _choice_changes(
    node: Node, old: list[object] | None, new: list[object] | None
) -> Iterator[Note]:
    keyword = "enum" if node.keyword("enum").differs else "const"
    if new is None:
        message = f"{node.name} may now be any value; it had to be one of {show_list(old or [])}."
        yield node.note(keyword, Direction.WIDENS, message)
    elif old is None:
        message = f"{node.name} must now be one of {show_list(new)}."
        yield node.note(keyword, Direction.NARROWS, message)
    else:
        yield from _gained_or_lost(node, keyword, missing_from(new, old), missing_from(old, new))


def _gained_or_lost(
    node: Node, keyword: str, gained: list[object], lost: list[object]
) -> Iterator[Note]:
    if gained:
        message = f"{node.name} may now also be {show_list(gained)}."
        yield node.note(keyword, Direction.WIDENS, message)
    if lost:
        message = f"{node.name} may no longer be {show_list(lost)}."
        yield node.note(keyword, Direction.NARROWS, message)
    if not gained and not lost:
        message = f"{node.name}: the same choices, now written in another way."
        yield node.note(keyword, Direction.NEUTRAL, message)


def _is_readable(schema: object) -> bool:
    choices = member(schema, "enum")
    return choices is MISSING or isinstance(choices, list)


def _choices(schema: object) -> list[object] | None:
    """The values that enum and const leave; None where neither says anything."""
    choices, only = member(schema, "enum"), member(schema, "const")
    if only is MISSING:
        return choices if isinstance(choices, list) else None
    if isinstance(choices, list) and not any(same(only, choice) for choice in choices):
        return []
    return [only]


@schema_rule("schema.pattern", "pattern")
def check_pattern(node: Node) -> Iterator[Note]:
    """A pattern is often the only thing between the model and free text."""
    place = node.keyword("pattern")
    if not place.differs:
        return
    if place.old is MISSING:
        direction, message = Direction.NARROWS, f"must now match {show(place.new)}."
    elif place.new is MISSING:
        direction, message = Direction.WIDENS, f"no longer has to match {show(place.old)}."
    elif isinstance(place.old, str) and isinstance(place.new, str):
        order = compare_patterns(place.old, place.new)
        direction = _BY_ORDER[order]
        message = (
            f"must now match {show_text(place.new)} instead of {show_text(place.old)}"
            f"{_proof(order)}."
        )
    else:
        direction, message = Direction.UNKNOWN, "has a pattern that is not text."
    yield node.note("pattern", direction, f"{node.name} {message}")


def _proof(order: PatternOrder) -> str:
    return {
        PatternOrder.SAME: ", which accepts the same texts",
        PatternOrder.NARROWER: ", which accepts fewer texts",
        PatternOrder.WIDER: ", which accepts more texts",
        PatternOrder.UNPROVEN: "; whether it accepts more could not be proven",
    }[order]


@schema_rule("schema.format", "format")
def check_format(node: Node) -> Iterator[Note]:
    """Formats are enforced here, so a dropped format is a dropped check."""
    place = node.keyword("format")
    if not place.differs:
        return
    if place.old is MISSING:
        direction, message = Direction.NARROWS, f"must now be a valid {show(place.new)}."
    elif place.new is MISSING:
        direction, message = Direction.WIDENS, f"no longer has to be a valid {show(place.old)}."
    else:
        direction = Direction.UNKNOWN
        message = f"must now be a valid {show(place.new)} instead of {show(place.old)}."
    yield node.note("format", direction, f"{node.name} {message}")


@schema_rule("schema.multiple_of", "multipleOf")
def check_multiple_of(node: Node) -> Iterator[Note]:
    """Finer steps let amounts through that were refused before."""
    place = node.keyword("multipleOf")
    if not place.differs:
        return
    if place.old is MISSING and is_number(place.new):
        direction, message = Direction.NARROWS, f"must now be a multiple of {show(place.new)}."
    elif place.new is MISSING:
        direction = Direction.WIDENS
        message = f"no longer has to be a multiple of {show(place.old)}."
    else:
        direction = _step_direction(place.old, place.new)
        message = f"must now be a multiple of {show(place.new)} instead of {show(place.old)}."
    yield node.note("multipleOf", direction, f"{node.name} {message}")


def _step_direction(old: object, new: object) -> Direction:
    # Fractions are left alone: validators round them in their own ways.
    if isinstance(old, int) and isinstance(new, int) and is_number(old) and is_number(new):
        if old > 0 and new > 0 and new % old == 0:
            return Direction.NARROWS
        if old > 0 and new > 0 and old % new == 0:
            return Direction.WIDENS
    return Direction.UNKNOWN
