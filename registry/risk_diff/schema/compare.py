"""The walk over two subschemas, keyword by keyword; nothing that differs is passed over."""

from collections.abc import Iterator
from dataclasses import replace

from registry.risk_diff.place import Note
from registry.risk_diff.rulebook import Scope, describe, schema_checks
from registry.risk_diff.schema.expansion import expand_lone_reference
from registry.risk_diff.schema.node import Frame, Node, Role
from registry.risk_diff.schema.sources import REFERENCES
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, same
from registry.risk_diff.wording import show, show_text

# Definitions mean nothing until something refers to them; what nobody refers to is left to the
# catch-all over the whole manifest.
_DEFINITIONS = frozenset({"$defs", "definitions"})

_MAX_DEPTH = 64

_ACCEPTANCE = describe(
    "schema.acceptance",
    Scope.SCHEMA,
    "A schema that is `false` refuses everything, one that is `true` checks nothing; anything"
    " that is neither an object nor a boolean is no schema, so nobody knows what it accepts.",
    "true",
    "false",
)
_UNRECOGNISED = describe(
    "schema.unrecognised",
    Scope.SCHEMA,
    "A keyword that this comparison does not know may mean anything to the tool.",
    "any other keyword",
)


def compare(node: Node) -> Iterator[Note]:
    """Every change between two subschemas that bears, or may bear, on what they accept."""
    if not _worth_a_look(node.frame, node.old, node.new):
        return
    if node.depth > _MAX_DEPTH or not node.frame.trail.spend():
        yield from _give_up(node)
    elif isinstance(node.old, dict) and isinstance(node.new, dict):
        expanded = expand_lone_reference(node)
        if expanded is not None:
            yield from _compare_keywords(expanded)
    else:
        yield from _compare_shapes(node)


def _give_up(node: Node) -> Iterator[Note]:
    # Once is enough: one unknown is an unknown verdict over the whole.
    if not node.frame.trail.gave_up:
        node.frame.trail.gave_up = True
        message = f"{node.name}: too large or too deeply nested to be compared in full."
        yield _whole(node, Direction.UNKNOWN, message)


def _worth_a_look(frame: Frame, old: object, new: object) -> bool:
    # Equal text may differ in meaning where it refers to something that does not.
    return id(new) in frame.new_source.referring or not same(old, new)


def _compare_keywords(node: Node) -> Iterator[Note]:
    old, new = node.old, node.new
    if not isinstance(old, dict) or not isinstance(new, dict):
        return
    asked: set[str] = set()
    for keyword in dict.fromkeys((*new, *old)):
        if not _keyword_worth_a_look(node.frame, keyword, old, new):
            continue
        checks = schema_checks(keyword)
        for entry, check in checks:
            if entry.id not in asked:
                asked.add(entry.id)
                for note in check(node):
                    yield note.stamped(entry.id, entry.why)
        if not checks:
            yield from _unrecognised(node, keyword)


def _keyword_worth_a_look(
    frame: Frame, keyword: str, old: dict[str, object], new: dict[str, object]
) -> bool:
    if keyword in _DEFINITIONS:
        return False
    if keyword in REFERENCES:
        return True
    return _worth_a_look(frame, old.get(keyword, MISSING), new.get(keyword, MISSING))


def _unrecognised(node: Node, keyword: str) -> Iterator[Note]:
    place = node.keyword(keyword)
    if place.differs:
        message = f"{node.name}: {show_text(keyword)} changes from {show(place.old)} to"
        note = place.note(Direction.UNKNOWN, f"{message} {show(place.new)}.")
        yield note.stamped(_UNRECOGNISED.id, _UNRECOGNISED.why)


def _compare_shapes(node: Node) -> Iterator[Note]:
    if not _is_schema(node.old) or not _is_schema(node.new):
        message = f"{node.name}: what stands for its schema changes to no known form."
        yield _whole(node, Direction.UNKNOWN, message)
    elif node.old is False:
        yield _whole(node, Direction.WIDENS, f"{node.name} was refused and is now accepted.")
    elif node.new is False:
        # A result that may no longer be there may be one that people decide by.
        direction = Direction.UNKNOWN if node.frame.role is Role.OUTPUT else Direction.NARROWS
        yield _whole(node, direction, f"{node.name} was accepted and is now refused.")
    else:
        yield from _compare_true(node)


def _compare_true(node: Node) -> Iterator[Note]:
    """One side is `true`, the same as an empty object: compare what is left, keyword by keyword."""
    old = {} if node.old is True else node.old
    new = {} if node.new is True else node.new
    place = replace(node.place, old=old, new=new, pinned=True)
    if same(old, new):
        message = f"{node.name}: accepting everything is now written in another way."
        yield _whole(node, Direction.NEUTRAL, message)
    yield from _compare_keywords(replace(node, place=place))


def _is_schema(value: object) -> bool:
    return isinstance(value, bool | dict)


def _whole(node: Node, direction: Direction, message: str) -> Note:
    note = node.place.note(node.frame.judged(direction), message)
    return note.stamped(_ACCEPTANCE.id, _ACCEPTANCE.why)
