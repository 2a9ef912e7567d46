"""Rules for schemas made of schemas: allOf, anyOf, oneOf, not, if."""

from collections.abc import Iterator

from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.compare import compare
from registry.risk_diff.schema.node import Node
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING


@schema_rule("schema.combination", "allOf", "anyOf", "oneOf")
def check_combination(node: Node) -> Iterator[Note]:
    """Branches are compared one by one; a branch more or less may let anything through."""
    for keyword in ("allOf", "anyOf"):
        yield from _branches(node, keyword, exact=False)
    # More than one match fails a oneOf, so a tighter branch can let more through.
    yield from _branches(node, "oneOf", exact=True)


def _branches(node: Node, keyword: str, *, exact: bool) -> Iterator[Note]:
    place = node.keyword(keyword)
    old, new = place.old, place.new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            branch = place.step(str(index), before, after)
            yield from compare(node.beside(branch, exact=exact))
    elif place.differs:
        yield _restructured(node, place, keyword)


def _restructured(node: Node, place: Place, keyword: str) -> Note:
    if place.new is MISSING:
        return node.note(keyword, Direction.WIDENS, f"{node.name} loses its {keyword} check.")
    if place.old is MISSING:
        message = f"{node.name} gets a new {keyword} check that has to be read."
        return node.note(keyword, Direction.UNKNOWN, message)
    message = f"{node.name}: the branches of its {keyword} check change."
    return node.note(keyword, Direction.UNKNOWN, message)


@schema_rule("schema.condition", "not", "if", "then", "else")
def check_condition(node: Node) -> Iterator[Note]:
    """Inside a negation or a condition tighter can mean looser, so every change needs a look."""
    for keyword in ("not", "if", "then", "else"):
        place = node.keyword(keyword)
        if place.old is MISSING and place.new is MISSING:
            continue
        if place.old is not MISSING and place.new is not MISSING:
            yield from compare(node.beside(place, exact=True))
        elif keyword == "not":
            yield _restructured(node, place, keyword)
        else:
            message = f"{node.name}: its condition gains or loses the part “{keyword}”."
            yield node.note(keyword, Direction.UNKNOWN, message)
