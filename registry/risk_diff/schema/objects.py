"""Rules for keywords about objects: which members may, must or may not be there."""

from collections.abc import Iterator

from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import schema_rule
from registry.risk_diff.schema.compare import compare
from registry.risk_diff.schema.node import Node, Role, absent_as_true
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, member, missing_from
from registry.risk_diff.wording import show_list, show_text

_FURTHER = "additionalProperties"
_Members = dict[str, object]


def _members(schema: object, keyword: str) -> _Members | None:
    """The members of an object-valued keyword; None where it is no object."""
    value = member(schema, keyword)
    if value is MISSING:
        return {}
    return value if isinstance(value, dict) else None


def _both(node: Node, keyword: str) -> tuple[_Members, _Members] | None:
    old, new = _members(node.old, keyword), _members(node.new, keyword)
    return None if old is None or new is None else (old, new)


def _unreadable(node: Node, keyword: str) -> Iterator[Note]:
    if node.keyword(keyword).differs:
        message = f"{node.name}: {keyword} is not of a known form."
        yield node.note(keyword, Direction.UNKNOWN, message)


@schema_rule("schema.required", "required")
def check_required(node: Node) -> Iterator[Note]:
    """What need not be given any more is left to the tool's own default."""
    yield from _demands(node, "required", "")


def _demands(node: Node, keyword: str, beside: str) -> Iterator[Note]:
    """A list of names that have to be there."""
    place = node.keyword(keyword)
    if not place.differs:
        return
    old = [] if place.old is MISSING else place.old
    new = [] if place.new is MISSING else place.new
    who = node.label or node.frame.role.carrier
    if not isinstance(old, list) or not isinstance(new, list):
        yield node.note(keyword, Direction.UNKNOWN, f"What {who} must have is not a list.")
        return
    dropped, added = missing_from(old, new), missing_from(new, old)
    if dropped:
        message = f"{who} no longer has to have {show_list(dropped)}{beside}."
        yield node.note(keyword, Direction.WIDENS, message)
    if added:
        yield node.note(keyword, Direction.NARROWS, f"{who} must have {show_list(added)}{beside}.")
    if not dropped and not added:
        message = f"What {who} must have{beside} is the same, now written in another way."
        yield node.note(keyword, Direction.NEUTRAL, message)


@schema_rule("schema.property_added", "properties")
def check_property_added(node: Node) -> Iterator[Note]:
    """A member that the tool did not read before opens a new way to steer it."""
    pair = _both(node, "properties")
    if pair is None:
        return
    old, new = pair
    required = member(node.new, "required")
    for name in (name for name in new if name not in old):
        place = node.place.at("properties", name)
        must = isinstance(required, list) and name in required
        kind = f"{'required' if must else 'optional'} {node.member_word}"
        message = f"{node.inside(name)} is a new {kind}."
        direction = node.frame.judged(_added_direction(node, new[name]))
        if new[name] is False:
            message = f"{node.inside(name)} is now refused."
        yield place.note(direction, message)


def _added_direction(node: Node, schema: object) -> Direction:
    if schema is False:
        return Direction.NEUTRAL if _is_closed(node.old) else Direction.NARROWS
    closed = ("additionalProperties", "unevaluatedProperties")
    if any(member(node.old, keyword) is False for keyword in closed):
        return Direction.WIDENS
    return Direction.UNKNOWN


@schema_rule("schema.property_removed", "properties")
def check_property_removed(node: Node) -> Iterator[Note]:
    """In a closed object a dropped member is refused, in an open one merely unchecked; a result
    that lacks it may lack what people decide by, such as a token to undo the effect."""
    pair = _both(node, "properties")
    if pair is None:
        return
    old, new = pair
    for name in (name for name in old if name not in new):
        direction, message = _removal(node, old[name])
        place = node.place.at("properties", name)
        yield place.note(node.frame.judged(direction), f"{node.inside(name)} {message}")


def _is_closed(schema: object) -> bool:
    """Whether an object is refused for any member it does not describe by name."""
    patterns = member(schema, "patternProperties")
    return member(schema, _FURTHER) is False and patterns is MISSING


def _removal(node: Node, schema: object) -> tuple[Direction, str]:
    rest = member(node.new, _FURTHER)
    if _is_closed(node.new):
        if schema is False:
            return Direction.NEUTRAL, "is refused, as before."
        if node.frame.role is Role.OUTPUT:
            return Direction.UNKNOWN, "is no longer returned; something may have relied on it."
        return Direction.NARROWS, "is no longer accepted."
    if rest is MISSING or rest is True:
        direction = Direction.UNKNOWN if node.frame.unevaluated else Direction.WIDENS
        return direction, "is no longer described, so whatever it holds is accepted."
    return Direction.UNKNOWN, "is no longer described; another check may apply to it."


@schema_rule("schema.properties", "properties")
def check_properties(node: Node) -> Iterator[Note]:
    """Members are compared one by one, at any depth."""
    pair = _both(node, "properties")
    if pair is None:
        yield from _unreadable(node, "properties")
        return
    old, new = pair
    for name in new:
        if name in old:
            place = node.place.at("properties", name)
            yield from compare(node.child(place, node.inside(name)))


@schema_rule("schema.further_properties", "additionalProperties")
def check_further_properties(node: Node) -> Iterator[Note]:
    """An object open to members nobody described takes free-form payloads."""
    place = node.keyword(_FURTHER)
    what = f"A {node.member_word} that nobody described"
    if place.differs and place.old is False:
        yield node.note(_FURTHER, Direction.WIDENS, f"{what} is now accepted.")
    elif place.differs and place.new is False:
        yield node.note(_FURTHER, Direction.NARROWS, f"{what} is now refused.")
    elif place.old is MISSING and node.frame.unevaluated:
        message = f"{what} is now checked apart from the rest."
        yield node.note(_FURTHER, Direction.UNKNOWN, message)
    else:
        label = f"each further member of {node.name}"
        yield from compare(node.child(absent_as_true(place), label))


@schema_rule("schema.pattern_properties", "patternProperties")
def check_pattern_properties(node: Node) -> Iterator[Note]:
    """A name pattern admits, or exempts from other checks, every member that matches it."""
    pair = _both(node, "patternProperties")
    if pair is None:
        yield from _unreadable(node, "patternProperties")
        return
    old, new = pair
    for pattern in dict.fromkeys((*new, *old)):
        place = node.place.at("patternProperties", pattern)
        what = f"Members of {node.name} named like {show_text(pattern)}"
        if pattern in old and pattern in new:
            yield from compare(node.child(place, what))
        elif pattern in new:
            yield _pattern_added(node, place, what)
        else:
            yield _pattern_removed(node, place, what)


def _pattern_added(node: Node, place: Place, what: str) -> Note:
    rest = member(node.old, "additionalProperties")
    if rest is False:
        direction = Direction.WIDENS
    elif (rest is MISSING or rest is True) and not node.frame.unevaluated:
        direction = Direction.NARROWS
    else:
        direction = Direction.UNKNOWN
    return place.note(node.frame.judged(direction), f"{what} get a check of their own.")


def _pattern_removed(node: Node, place: Place, what: str) -> Note:
    rest = member(node.new, "additionalProperties")
    open_ended = rest is MISSING or rest is True
    direction = Direction.WIDENS if open_ended else Direction.UNKNOWN
    return place.note(node.frame.judged(direction), f"{what} lose their own check.")


@schema_rule("schema.property_names", "propertyNames")
def check_property_names(node: Node) -> Iterator[Note]:
    """Looser names let members through that nobody described."""
    place = absent_as_true(node.keyword("propertyNames"))
    yield from compare(node.child(place, f"each member name in {node.name}"))


@schema_rule("schema.dependent_required", "dependentRequired")
def check_dependent_required(node: Node) -> Iterator[Note]:
    """A member that no longer demands its companions can come alone."""
    pair = _both(node, "dependentRequired")
    if pair is None:
        yield from _unreadable(node, "dependentRequired")
        return
    holder = Node(node.keyword("dependentRequired"), node.frame, node.label, node.depth)
    for name in dict.fromkeys((*pair[1], *pair[0])):
        yield from _demands(holder, name, f" along with {show_text(name)}")


@schema_rule("schema.dependent_schemas", "dependentSchemas", "dependencies")
def check_dependent_schemas(node: Node) -> Iterator[Note]:
    """A check that applies only beside a certain member is easily lost from view."""
    pair = _both(node, "dependentSchemas")
    if pair is None:
        yield from _unreadable(node, "dependentSchemas")
    else:
        yield from _dependent(node, *pair)
    yield from _older_dependencies(node)


def _dependent(node: Node, old: _Members, new: _Members) -> Iterator[Note]:
    for name in dict.fromkeys((*new, *old)):
        place = node.place.at("dependentSchemas", name)
        if name not in old and node.frame.unevaluated:
            message = f"{node.name} gets a new check beside {show_text(name)}."
            yield place.note(Direction.UNKNOWN, message)
        else:
            yield from compare(node.beside(absent_as_true(place)))


def _older_dependencies(node: Node) -> Iterator[Note]:
    if node.keyword("dependencies").differs:
        message = f"{node.name}: its dependencies, written in an older way, change."
        yield node.note("dependencies", Direction.UNKNOWN, message)


@schema_rule("schema.unevaluated", "unevaluatedProperties", "unevaluatedItems")
def check_unevaluated(node: Node) -> Iterator[Note]:
    """The last check on what no other keyword has looked at."""
    for keyword in ("unevaluatedProperties", "unevaluatedItems"):
        place = node.keyword(keyword)
        what = f"whatever in {node.name} no other keyword describes"
        if place.differs and place.old is False:
            yield node.note(keyword, Direction.WIDENS, f"{what} is now accepted.")
        elif place.differs and place.new is False:
            yield node.note(keyword, Direction.NARROWS, f"{what} is now refused.")
        elif place.differs and place.old is MISSING:
            # It counts as a look at everything, which an outer check of this kind then lets pass.
            yield node.note(keyword, Direction.UNKNOWN, f"{what} is now checked apart.")
        else:
            yield from compare(node.child(absent_as_true(place), what))
