"""References put in place: a schema that is only a reference is read as what it refers to."""

from dataclasses import replace

from registry.risk_diff.schema.node import Frame, Node
from registry.risk_diff.schema.sources import Source

ANNOTATIONS = frozenset(
    {"title", "description", "$comment", "examples", "default", "deprecated", "readOnly",
     "writeOnly"}
)  # fmt: skip


def expand_lone_reference(node: Node) -> Node | None:
    """Where one version refers to a schema that the other writes out, put it in place.

    None where these two have met before: a recursive schema, already accounted for.
    """
    old, new = node.old, node.new
    if not isinstance(old, dict) or not isinstance(new, dict) or ("$ref" in old) is ("$ref" in new):
        return node
    frame = node.frame
    if not frame.trail.is_new((id(old), id(new), frame.exact, frame.unevaluated)):
        return None
    if "$ref" in old:
        expanded = _expanded(old, frame.old_source)
        if expanded is None:
            return node
        return _put(node, reframed(frame, expanded[1], frame.new_source), expanded[0], new)
    expanded = _expanded(new, frame.new_source)
    if expanded is None:
        return node
    return _put(node, reframed(frame, frame.old_source, expanded[1]), old, expanded[0])


def reframed(frame: Frame, old_source: Source, new_source: Source) -> Frame:
    """The circumstances after following references into other documents."""
    if old_source.name and new_source.name:
        frame.trail.pairs.add((old_source.name, new_source.name))
    looks_back = old_source.has_unevaluated or new_source.has_unevaluated
    return replace(
        frame,
        old_source=old_source,
        new_source=new_source,
        unevaluated=frame.unevaluated or looks_back,
    )


def _expanded(schema: dict[str, object], source: Source) -> tuple[dict[str, object], Source] | None:
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    target = source.resolve(schema["$ref"])
    if not ANNOTATIONS.issuperset(beside) or target is None or not isinstance(target.value, dict):
        return None
    return {**target.value, **beside}, target.source


def _put(node: Node, frame: Frame, old: dict[str, object], new: dict[str, object]) -> Node:
    place = replace(node.place, old=old, new=new, pinned=True)
    return Node(place, frame, node.label, node.depth + 1)
