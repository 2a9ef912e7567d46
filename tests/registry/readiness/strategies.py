"""Manifests gone wrong in every way: the example with parts replaced, removed, doubled or moved."""

import copy
from typing import Any

from hypothesis import strategies as st

from contextos.core.json_pointer import split, walk
from tests.registry.readiness.manifests import example

_NASTY_TEXTS = (
    "",
    " ",
    "*",
    "#",
    "#/$defs/x",
    "schema://payments.issue_refund.input.v1",
    "http://[::1",
    "https://127.0.0.1\\@x",
    "decision.decision.",
    "decision.",
    "a" * 500,
    "\u202e<script>",
    "^(a+)+$",
    "(?=x)",
    "[",
    "{path}",
    "tools",
    "mcp",
    "task",
    "url",
    "http://json-schema.org/draft-04/schema#",
    "~1~0",
    "0",
)
_NAMES = (
    "$ref",
    "$id",
    "$schema",
    "$anchor",
    "allOf",
    "anyOf",
    "items",
    "properties",
    "type",
    "enum",
    "pattern",
    "capability_id",
    "protocol_tool",
    "decision_binding",
    "input_schema",
    "output_schema",
    "schemas",
    "sampling",
    "elicitation",
    "resource_templates",
    "icons",
    "url_template",
    "uri_template",
    "parameter_constraints",
    "execution",
    "colour",
)

_TEXTS = st.one_of(
    st.sampled_from(_NASTY_TEXTS),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXTS,
)
ANY_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(_NAMES), _TEXTS), inner, max_size=4),
    ),
    max_leaves=12,
)


def _pointers(document: dict[str, Any]) -> list[str]:
    return sorted({pointer for pointer, _ in walk(document) if pointer})


def _apply(document: dict[str, Any], pointer: str, action: str, value: Any) -> None:
    *parents, last = split(pointer)
    owner: Any = document
    for token in parents:
        owner = owner[int(token)] if isinstance(owner, list) else owner[token]
    key: Any = int(last) if isinstance(owner, list) else last
    if action == "remove":
        del owner[key]
    elif action == "add" and isinstance(owner, dict):
        owner[value if isinstance(value, str) else "colour"] = copy.deepcopy(owner[key])
    elif action == "repeat" and isinstance(owner, list):
        owner.append(copy.deepcopy(owner[key]))
    else:
        owner[key] = value


@st.composite
def mutated_manifests(draw: st.DrawFn) -> dict[str, Any]:
    """One of the examples after a few random changes."""
    document = copy.deepcopy(example(draw(st.sampled_from(["payments", "knowledge", "broken"]))))
    for _ in range(draw(st.integers(1, 6))):
        places = _pointers(document)
        if not places:
            break
        pointer = draw(st.sampled_from(places))
        action = draw(st.sampled_from(["replace", "replace", "remove", "add", "repeat"]))
        value = draw(st.sampled_from(_NAMES)) if action == "add" else draw(ANY_JSON)
        _apply(document, pointer, action, value)
    return document


WILD_DOCUMENTS = st.dictionaries(
    st.one_of(st.sampled_from(sorted(example("broken"))), st.sampled_from(_NAMES)),
    ANY_JSON,
    max_size=8,
)
