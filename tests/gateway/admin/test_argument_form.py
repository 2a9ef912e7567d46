"""Forms made from input schemas: each kind of member, what is suggested, what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from django.forms import PasswordInput

from gateway.admin.argument_form import ArgumentsForm

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "examples": ["Ada"], "description": "Whose it is."},
        "many": {"type": ["integer", "null"], "default": 5},
        "share": {"type": "number"},
        "open": {"type": "boolean"},
        "kind": {"enum": ["old", "new"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pin": {"type": "string", "writeOnly": True},
    },
    "required": ["name"],
}


def _filled(schema: Any = SCHEMA, **given: str) -> ArgumentsForm:
    return ArgumentsForm(given, schema=schema)


def test_every_kind_of_member_comes_out_as_its_json_type() -> None:
    form = _filled(m0=" Ada ", m1="7", m2="0.5", m3="false", m4="new", m5='["a", "b"]', m6="1234")
    assert form.is_valid(), form.errors
    assert form.arguments() == {
        "name": " Ada ",
        "many": 7,
        "share": 0.5,
        "open": False,
        "kind": "new",
        "tags": ["a", "b"],
        "pin": "1234",
    }


def test_an_optional_member_left_empty_is_left_out() -> None:
    form = _filled(m0="Ada")
    assert form.is_valid(), form.errors
    assert form.arguments() == {"name": "Ada"}
    assert not _filled(m1="7").is_valid()


def test_the_schema_suggests_and_secrets_are_never_sent_back() -> None:
    fields = ArgumentsForm(schema=SCHEMA).fields
    assert [fields[name].initial for name in ("m0", "m1")] == ["Ada", 5]
    assert fields["m0"].help_text == "Whose it is."
    assert isinstance(fields["m6"].widget, PasswordInput)
    assert "1234" not in _filled(m0="Ada", m6="1234").as_p()


@pytest.mark.parametrize("text", ["[1]", '"text"', "{,}", '{"a": 1, "a": 2}', ""])
def test_what_is_no_object_is_refused_at_the_one_box(text: str) -> None:
    assert not _filled({"type": "object"}, whole=text).is_valid()


def test_a_schema_without_members_is_asked_for_as_one_object() -> None:
    form = _filled({"$ref": "#/$defs/x"}, whole='{"a": [1]}')
    assert form.is_valid()
    assert form.arguments() == {"a": [1]}
