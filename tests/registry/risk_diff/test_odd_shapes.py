"""Whatever stands in a manifest, the diff neither fails nor passes a difference over."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.risk_diff import Verdict, diff_manifests
from tests.depth import examples
from tests.registry.risk_diff.manifests import MONEY, Manifest, payments

_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: Any, pointer: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [pointer] if pointer else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += _places(inner, (*pointer, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _places(inner, (*pointer, index))
    return found


_PLACES = _places(payments())


def _has(owner: Any, token: Any) -> bool:
    if isinstance(owner, list):
        return isinstance(token, int) and token < len(owner)
    return isinstance(owner, dict) and token in owner


def _replace(manifest: Any, place: tuple[Any, ...], value: Any) -> None:
    owner = manifest
    for token in place[:-1]:
        if not _has(owner, token):
            return
        owner = owner[token]
    if _has(owner, place[-1]):
        owner[place[-1]] = value


_odd_manifests = st.lists(st.tuples(st.sampled_from(_PLACES), _values), max_size=4)


def _odd(edits: list[tuple[tuple[Any, ...], Any]]) -> Manifest:
    manifest = payments()
    for place, value in edits:
        _replace(manifest, place, value)
    return manifest


@settings(max_examples=examples(150), deadline=None)
@given(_odd_manifests, _odd_manifests)
def test_odd_shapes_never_raise_and_never_pass_unseen(
    before: list[tuple[tuple[Any, ...], Any]], after: list[tuple[tuple[Any, ...], Any]]
) -> None:
    old, new = _odd(before), _odd(after)
    diff = diff_manifests(old, new)
    assert json.dumps(diff.as_dict())
    assert (diff.changes == ()) == (_text(old) == _text(new))
    assert diff_manifests(old, old).changes == ()


def _text(value: Any) -> str:
    # -0.0 and 0 are one number; text would tell them apart.
    return json.dumps(value, sort_keys=True).replace("-0.0", "0").replace(".0", "")


@settings(max_examples=examples(100), deadline=None)
@given(_values, _values)
def test_documents_that_are_no_manifests_never_raise(old: Any, new: Any) -> None:
    assert diff_manifests(old, new).as_dict()


def test_deep_nesting_never_raises() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = {"properties": {"a": deep}, "not": [deep]} if _ < 3 else {"x": deep}
    new = payments()
    new["schemas"][MONEY] = deep
    new["x_deep"] = deep
    assert diff_manifests(payments(), new).verdict is Verdict.WIDENS
    assert diff_manifests(new, new).changes == ()


def _tangle(*, even: bool) -> dict[str, Any]:
    """Each version refers back to itself exactly where the other one writes the schema out."""
    written = {"properties": {name: {"$ref": "#"} for name in "abcdef"}, "maxProperties": 4}
    members = enumerate("abcdef")
    properties = {
        name: {"$ref": "#"} if (index % 2 == 0) is even else written for index, name in members
    }
    return {"properties": properties, "maxProperties": 4 + even}


def test_schemas_that_wind_around_each_other_are_compared_in_little_time() -> None:
    old, new = payments(), payments()
    old["schemas"][MONEY], new["schemas"][MONEY] = _tangle(even=True), _tangle(even=False)
    diff = diff_manifests(old, new)
    assert diff.verdict is Verdict.WIDENS
    assert len(diff.changes) < 1000


def test_schema_too_large_to_compare_is_unknown_and_says_so() -> None:
    old, new = payments(), payments()
    names = [f"argument_{number}" for number in range(20_100)]
    old["schemas"][MONEY] = {"properties": {name: {"maximum": 2} for name in names}}
    new["schemas"][MONEY] = {"properties": {name: {"maximum": 1} for name in names}}
    diff = diff_manifests(old, new)
    assert diff.verdict is Verdict.WIDENS
    assert any("too large" in change.message for change in diff.changes)
