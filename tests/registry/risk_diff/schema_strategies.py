"""Small JSON Schemas, edits to them, and instances that such schemas tell apart."""

import copy
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "x_c")
SCALARS: tuple[Any, ...] = (None, True, False, -1, 0, 1, 2, 3, 4, 2.5, "", "a", "ab", "x1", "x_c")
PATTERNS = ("^a$", "^[a-b]{1,2}$", "^[a-c]{1,3}$", "^x", "^x[0-9]$", "b", "^[a-z]*$")
TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")

_scalars = st.sampled_from(SCALARS)
instances: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=5,
)

# Every instance pool holds these, so that single keywords are always told apart.
BASIC_INSTANCES: tuple[Any, ...] = (
    *SCALARS,
    [],
    [1],
    [1, 1],
    [1, 2, "a"],
    ["a", "ab"],
    [{}],
    {},
    {"a": 1},
    {"a": "a"},
    {"b": None},
    {"x_c": 3},
    {"a": 1, "b": 2},
    {"a": "ab", "x_c": "x1"},
    {"a": 1, "b": 2, "x_c": 3},
    {"a": {"a": 1}},
    {"b": [1, 2]},
)

_small = st.integers(0, 3)
_bounds = st.integers(-1, 4)
_names = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)


def _keywords(inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    branches = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    types = st.sampled_from(TYPES)
    return {
        "type": st.one_of(types, st.lists(types, min_size=1, max_size=3, unique=True)),
        "enum": st.lists(_scalars, min_size=1, max_size=4),
        "const": _scalars,
        "minimum": _bounds,
        "maximum": _bounds,
        "exclusiveMinimum": _bounds,
        "exclusiveMaximum": _bounds,
        "multipleOf": st.sampled_from((1, 2, 3, 4, 0.5)),
        "minLength": _small,
        "maxLength": _small,
        "pattern": st.sampled_from(PATTERNS),
        "format": st.sampled_from(("email", "date", "ipv4")),
        "minItems": _small,
        "maxItems": _small,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": branches,
        "contains": inner,
        "minContains": _small,
        "maxContains": _small,
        "unevaluatedItems": inner,
        "properties": by_name,
        "patternProperties": st.dictionaries(st.sampled_from(("^x_", "a")), inner, max_size=2),
        "additionalProperties": inner,
        "unevaluatedProperties": inner,
        "propertyNames": inner,
        "required": _names,
        "minProperties": _small,
        "maxProperties": _small,
        "dependentRequired": st.dictionaries(st.sampled_from(NAMES), _names, max_size=2),
        "dependentSchemas": by_name,
        "allOf": branches,
        "anyOf": branches,
        "oneOf": branches,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(("#/$defs/d", "#/$defs/e", "#")),
        "title": st.sampled_from(("one", "two")),
    }


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    known = _keywords(inner)
    chosen = draw(st.lists(st.sampled_from(sorted(known)), max_size=4, unique=True))
    return {keyword: draw(known[keyword]) for keyword in chosen}


# A new empty object each time: `edited` writes into what it draws.
subschemas: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.builds(dict), lambda inner: _objects(inner), max_leaves=6
)


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A schema with two definitions that it may refer to."""
    root = draw(_objects(subschemas))
    return {**root, "$defs": {"d": draw(subschemas), "e": draw(subschemas)}}


def _sites(value: Any, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        found.append(value)
        for inner in value.values():
            _sites(inner, found)
    elif isinstance(value, list):
        for inner in value:
            _sites(inner, found)
    return found


@st.composite
def edited(draw: st.DrawFn, schema: Any) -> Any:
    """The schema with a few keywords set, exchanged or taken out, at any depth."""
    result = copy.deepcopy(schema)
    known = _keywords(subschemas)
    for _ in range(draw(st.integers(1, 3))):
        site = draw(st.sampled_from(_sites(result, [])))
        present = sorted(set(site) & set(known))
        takes_out: bool = draw(st.booleans())
        if present and takes_out:
            site.pop(draw(st.sampled_from(present)))
        else:
            keyword: str = draw(st.sampled_from([*present, *known]))
            site[keyword] = draw(known[keyword])
    return result
