"""A real validator as the judge: what the new schema lets through anew must never go unsaid."""

from collections.abc import Iterable
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from registry.risk_diff import Direction, diff_manifests
from registry.risk_diff.schema import Role, compare_documents
from registry.risk_diff.schema.sources import Source
from registry.risk_diff.values import same
from tests.depth import examples
from tests.registry.risk_diff.random_schemas import SchemaMaker
from tests.registry.risk_diff.schema_strategies import (
    BASIC_INSTANCES,
    edited,
    instances,
    schemas,
)

_SETTINGS = settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


_DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
)


def _validator(schema: Any) -> Any:
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return None


def _directions(old: Any, new: Any) -> list[Direction]:
    notes = compare_documents(
        Role.INPUT, Source("", old, {}), Source("", new, {}), subject="x", base=("schema",)
    )
    return [note.direction for note in notes]


def _is_new(before: Any, after: Any, value: Any) -> bool:
    return after.is_valid(value) and not before.is_valid(value)


def _newly_accepted(old: Any, new: Any, pool: Iterable[Any]) -> list[Any]:
    before, after = _validator(old), _validator(new)
    # A schema that no validator takes is the linter's matter.
    assume(before is not None and after is not None)
    return [value for value in pool if _is_new(before, after, value)]


def _assert_said(old: Any, new: Any, accepted: list[Any]) -> None:
    directions = _directions(old, new)
    if accepted:
        assert any(direction.needs_review for direction in directions), (accepted, directions)


@pytest.mark.proves("B3")
@_SETTINGS
@given(st.data(), schemas(), st.lists(instances, max_size=10))
def test_what_an_edit_lets_through_anew_is_never_called_narrower(
    data: st.DataObject, old: Any, more: list[Any]
) -> None:
    new = data.draw(edited(old))
    _assert_said(old, new, _newly_accepted(old, new, (*BASIC_INSTANCES, *more)))


@pytest.mark.proves("B3")
@pytest.mark.parametrize("dialect", _DIALECTS)
def test_thousands_of_random_edits_let_nothing_through_unsaid(dialect: str) -> None:
    maker = SchemaMaker(seed=2026)
    pool = maker.instances(120)
    proved_narrower = 0
    for _ in range(150):
        old = {**maker.schema(), "$schema": dialect}
        for new in [maker.edited(old) for _ in range(6)]:
            directions = _directions(old, new)
            if any(direction.needs_review for direction in directions):
                continue
            proved_narrower += bool(directions)
            before, after = _validator(old), _validator(new)
            if before and after:
                assert not [value for value in pool if _is_new(before, after, value)], (old, new)
    # Calling everything unknown would pass as well; it must not come to that.
    assert proved_narrower > 20


@_SETTINGS
@given(st.data(), schemas())
def test_a_schema_edit_is_never_passed_over_in_silence(data: st.DataObject, old: Any) -> None:
    new = data.draw(edited(old))
    diff = diff_manifests(_manifest(old), _manifest(new))
    assert diff.changes or same(old, new)


def _manifest(schema: Any) -> dict[str, Any]:
    capability = {"capability_id": "a.b", "input_schema_ref": "schema://a"}
    return {"capabilities": [capability], "schemas": {"schema://a": schema}}


@_SETTINGS
@given(schemas())
def test_a_schema_compared_with_itself_has_not_changed(schema: Any) -> None:
    assert diff_manifests(_manifest(schema), _manifest(schema)).changes == ()
