"""Rules for references between schemas, and for the keywords that name documents."""

from collections.abc import Iterator
from dataclasses import replace

from registry.risk_diff.place import Note, Path, Place
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.compare import compare
from registry.risk_diff.schema.expansion import reframed
from registry.risk_diff.schema.node import Node
from registry.risk_diff.schema.sources import Target
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING
from registry.risk_diff.wording import show


@schema_rule("schema.reference", "$ref")
def check_reference(node: Node) -> Iterator[Note]:
    """A reference means what it leads to; one that cannot be followed may mean anything."""
    place = node.keyword("$ref")
    if place.new is MISSING:
        message = f"{node.name} is no longer checked by {show(place.old)}."
        yield node.note("$ref", Direction.WIDENS, message)
    elif place.old is MISSING:
        message = f"{node.name} is now checked by {show(place.new)} as well."
        yield node.note("$ref", Direction.UNKNOWN, message)
    else:
        old = node.frame.old_source.resolve(place.old)
        new = node.frame.new_source.resolve(place.new)
        yield from _compare_targets(node, place, old, new)


def _compare_targets(
    node: Node, place: Place, old: Target | None, new: Target | None
) -> Iterator[Note]:
    if old is None or new is None:
        message = f"{node.name}: the reference {show(place.new)} could not be followed."
        yield node.note("$ref", Direction.UNKNOWN, message)
        return
    if place.differs:
        message = f"{node.name} is now checked by {show(place.new)} instead of {show(place.old)}."
        yield node.note("$ref", Direction.NEUTRAL, message)
    yield from _follow(node, old, new)


def _follow(node: Node, old: Target, new: Target) -> Iterator[Note]:
    frame = node.frame
    key = (old.source.name, old.tokens, new.source.name, new.tokens)
    step = (*key, frame.exact, frame.unevaluated)
    # Met again while being compared: a recursive schema, already accounted for.
    if not frame.trail.is_new(step):
        return
    target = Node(
        _target_place(node, old, new),
        replace(reframed(frame, old.source, new.source), base=_base(node, old, new)),
        node.label,
        node.depth + 1,
    )
    yield from compare(target)


def _base(node: Node, old: Target, new: Target) -> Path:
    frame = node.frame
    stays = (old.source.name, new.source.name) == (frame.old_source.name, frame.new_source.name)
    return frame.base if stays else ("schemas", (old.source.name, new.source.name))


def _target_place(node: Node, old: Target, new: Target) -> Place:
    base = _base(node, old, new)
    moved = old.tokens != new.tokens
    # Definitions under different names are compared, but only the catch-all can tell what became
    # of the names themselves, so such a place answers for nothing.
    path: Path = (*base, "moved") if moved else (*base, *new.tokens)
    return Place(
        old.value,
        new.value,
        path,
        (*old.source.tokens, *old.tokens),
        (*new.source.tokens, *new.tokens),
        node.place.subject,
        pinned=moved,
    )


@schema_rule("schema.dynamic_reference", "$dynamicRef", "$recursiveRef")
def check_dynamic_reference(node: Node) -> Iterator[Note]:
    """What a dynamic reference leads to depends on the path taken, so it proves nothing."""
    for keyword in ("$dynamicRef", "$recursiveRef"):
        place = node.keyword(keyword)
        if place.old is not MISSING or place.new is not MISSING:
            message = f"{node.name}: a dynamic reference in a changed schema."
            yield node.note(keyword, Direction.UNKNOWN, message)


@schema_rule(
    "schema.identity", "$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor",
    "$vocabulary",
)  # fmt: skip
def check_identity(node: Node) -> Iterator[Note]:
    """The dialect decides what every other keyword means; names decide where references lead."""
    for keyword in ("$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor",
                    "$vocabulary"):  # fmt: skip
        place = node.keyword(keyword)
        if place.differs:
            message = f"{node.name}: {keyword} changes from {show(place.old)} to {show(place.new)}."
            yield node.note(keyword, Direction.UNKNOWN, message)
