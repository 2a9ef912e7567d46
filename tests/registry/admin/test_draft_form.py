"""The twelve-step form and the JSON view are the same document."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import strict_json
from registry.admin.draft_form import STEPS, apply_fields, bind, windows, with_change
from registry.admin.draft_form.binding import BoundForm
from registry.admin.draft_form.fields import ABSENT, FieldFault, Kind, fits, read, shown
from registry.admin.draft_form.posting import tried_samples
from registry.manifest import normalise
from registry.readiness import Finding, lint_document
from tests.registry.manifests import many, orders, refunds

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "manifests").glob("*.json"))


def _posted(form: BoundForm) -> dict[str, str]:
    return {
        bound.name: bound.value
        for step in form.steps
        for bound in step.all_fields()
        if not bound.locked
    }


def _through_the_form(document: dict[str, Any]) -> dict[str, Any]:
    shown_document = normalise(copy.deepcopy(document))
    for window in range(windows(shown_document)):
        form = bind(shown_document, (), window=window)
        posted = apply_fields(shown_document, _posted(form), window=window)
        assert posted.faults == {}
    return normalise(shown_document)


def _form_of(document: dict[str, Any]) -> BoundForm:
    shown_document = normalise(document)
    return bind(shown_document, lint_document(shown_document).findings)


@pytest.mark.proves("B1", "B8")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_manifest_goes_through_the_form_unchanged(path: Path) -> None:
    document = dict(strict_json.loads_object(path.read_bytes()))
    assert _through_the_form(document) == normalise(document)


def test_a_manifest_of_many_pages_goes_through_the_form_unchanged() -> None:
    document = many(57)
    assert _through_the_form(document) == normalise(document)


_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**53), 2**53),
    _text,
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=8,
)
_names = st.sampled_from(
    sorted(
        {spec.path[0] for step in STEPS for spec in (*step.adapter_fields,)} | {"odd", "schemas"}
    )
)
_capability_names = st.sampled_from(
    sorted({spec.path[0] for step in STEPS for spec in step.capability_fields} | {"odd"})
)


@given(
    top=st.dictionaries(_names, _values, max_size=6),
    capability=st.dictionaries(_capability_names, _values, max_size=6),
)
def test_values_of_any_type_survive_the_form(
    top: dict[str, Any], capability: dict[str, Any]
) -> None:
    document = normalise({**top, "capabilities": [capability, "not an object"]})
    before = copy.deepcopy(document)
    posted = apply_fields(document, _posted(bind(document, ())), window=0)
    assert posted.faults == {}
    assert _without_blanks(document) == _without_blanks(before)


def _without_blanks(value: Any) -> Any:
    """Members that say nothing are left out by the form, as normalising would put them back."""
    if isinstance(value, dict):
        return {
            name: _without_blanks(item)
            for name, item in value.items()
            if item is not None and item not in ("", [])
        }
    return [_without_blanks(item) for item in value] if isinstance(value, list) else value


def test_every_step_of_the_guide_has_its_number_in_order() -> None:
    assert [step.number for step in STEPS] == list(range(1, 13))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.TEXT, "  words ", "words"),
        (Kind.TEXT, "   ", ABSENT),
        (Kind.NUMBER, "20", 20),
        (Kind.NUMBER, "0.5", 0.5),
        (Kind.YES_NO, "false", False),
        (Kind.LINES, "a\r\n\n b \n", ["a", "b"]),
        (Kind.JSON, '{"a": [1]}', {"a": [1]}),
    ],
)
def test_fields_read_what_was_typed(kind: Kind, text: str, value: Any) -> None:
    assert read(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.NUMBER, "twenty"),
        (Kind.NUMBER, "1e9"),
        (Kind.JSON, "{"),
        (Kind.JSON, '{"a":1,"a":2}'),
    ],
)
def test_what_cannot_be_read_is_a_fault_and_never_a_guess(kind: Kind, text: str) -> None:
    with pytest.raises(FieldFault):
        read(kind, text)


def test_a_fault_keeps_the_text_as_typed_beside_its_field() -> None:
    document = normalise(orders())
    name = "f/transport/timeout_seconds"
    posted = apply_fields(document, {name: "soon"}, window=0)
    form = bind(document, (), faults=posted.faults)
    field = next(f for step in form.steps for f in step.all_fields() if f.name == name)
    assert field.value == "soon"
    assert "not a number" in field.fault
    assert document["transport"]["timeout_seconds"] == 5


def test_a_value_of_another_type_is_shown_and_not_overwritten() -> None:
    document = normalise(orders(name=["a", "list"]))
    form = bind(document, ())
    field = next(f for step in form.steps for f in step.all_fields() if f.pointer == "/name")
    assert field.locked
    apply_fields(document, {"f/name": "typed over"}, window=0)
    assert document["name"] == ["a", "list"]


def test_findings_stand_beside_the_field_they_are_about() -> None:
    broken = refunds()
    broken["capabilities"][0].pop("approval_mode")
    broken["capabilities"][0]["idempotency"] = {"required": False}
    broken["auth"].pop("type", None)
    form = _form_of(broken)
    beside = {
        bound.pointer: {finding.rule for finding in bound.findings}
        for step in form.steps
        for bound in step.all_fields()
        if bound.findings
    }
    assert "capability.approval_mode.missing" in beside["/capabilities/0/approval_mode"]
    assert "write.idempotency.missing" in beside["/capabilities/0/idempotency/required"]


def test_a_step_counts_what_blocks_it() -> None:
    broken = refunds()
    broken["capabilities"][0].pop("approval_mode")
    counts = {bound.step.key: bound.open_count for bound in _form_of(broken).steps}
    assert counts["mode"] >= 1
    assert counts["publish"] == 0


def test_a_finding_without_a_field_is_still_listed() -> None:
    finding = Finding("x.y", lint_document({}).findings[0].severity, "/nowhere", "m", "r")
    form = bind(normalise(orders()), (finding,))
    assert "/nowhere" not in form.placed


def test_capabilities_and_schemas_are_added_and_removed() -> None:
    document = normalise(orders())
    with_change(document, "add_capability", {})
    assert document["capabilities"][1] == {}
    with_change(document, "remove_capability:0", {})
    assert document["capabilities"] == [{}]
    with_change(document, "remove_capability:9", {})
    with_change(document, "add_schema", {"new_schema": "orders.cancel.input.v1"})
    assert document["schemas"]["schema://orders.cancel.input.v1"]["type"] == "object"
    with_change(document, "remove_schema:schema://orders.cancel.input.v1", {})
    assert "schema://orders.cancel.input.v1" not in document["schemas"]


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "-1", ""])
def test_a_button_that_names_no_number_removes_nothing(number: str) -> None:
    document = normalise(orders())
    with_change(document, f"remove_capability:{number}", {})
    assert len(document["capabilities"]) == 1


def test_only_the_fields_of_the_shown_page_are_read() -> None:
    document = normalise(many(45))
    apply_fields(document, {"f/capabilities/44/domain": "late"}, window=0)
    assert document["capabilities"][44]["domain"] == "orders"
    apply_fields(document, {"f/capabilities/44/domain": "late"}, window=2)
    assert document["capabilities"][44]["domain"] == "late"


def test_sample_arguments_are_tried_against_the_input_schema() -> None:
    document = normalise(orders())
    tried = {"sample/0": '{"order_id": "ord_1234"}'}
    assert tried_samples(document, tried, window=0)[0].problems == ()
    refused = tried_samples(document, {"sample/0": '{"order_id": 7}'}, window=0)[0].problems
    assert refused
    assert "order_id" in refused[0]
    assert tried_samples(document, {}, window=0)[0].problems is None
    assert tried_samples(document, {"sample/0": "{"}, window=0)[0].problems


@given(value=_values, kind=st.sampled_from(Kind))
def test_what_a_field_shows_it_reads_back(value: Any, kind: Kind) -> None:
    if value is None or not fits(kind, value):
        return
    text = shown(kind, value)
    again = read(kind, text)
    if again is ABSENT:
        assert value in ("", [])
    else:
        assert again == value
