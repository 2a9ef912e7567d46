"""Values written out for people: secrets masked, nothing invisible, nothing endless."""

from __future__ import annotations

from typing import Any

from contextos.core.secret_schemas import secret_pointers
from gateway.admin.values import LONGEST, shown_value

SCHEMA = {
    "type": "object",
    "properties": {
        "card": {"type": "string", "format": "password"},
        "codes": {"type": "array", "items": {"type": "string", "writeOnly": True}},
        "owner": {"$ref": "#/$defs/owner"},
        "either": {"anyOf": [{"properties": {"word": {"x-secret": True}}}]},
        "plain": {"type": "string"},
    },
    "$defs": {"owner": {"properties": {"pass_phrase": {"x-secret": True}}}},
}


def test_a_schema_says_which_values_are_secret() -> None:
    assert set(secret_pointers(SCHEMA)) == {
        "/card",
        "/codes/*",
        "/owner/pass_phrase",
        "/either/word",
    }


def test_secret_values_are_masked_wherever_they_stand() -> None:
    value = {
        "card": "4111",
        "codes": ["one-a", "two-b"],
        "owner": {"pass_phrase": "open sesame"},
        "either": {"word": "xyzzy"},
        "plain": "seen",
    }
    shown = shown_value(value, SCHEMA)
    for hidden in ("4111", "one-a", "two-b", "open sesame", "xyzzy"):
        assert hidden not in shown.text
    assert "seen" in shown.text
    assert shown.masked == 5


def test_a_schema_that_refers_to_itself_does_not_run_forever() -> None:
    looping = {"properties": {"child": {"$ref": "#"}, "pin": {"writeOnly": True}}}
    assert "/pin" in set(secret_pointers(looping))


def test_no_schema_and_odd_schemas_mark_nothing() -> None:
    odd: list[Any] = [None, True, [], {"properties": []}, {"$ref": "#/nowhere"}]
    for schema in odd:
        assert list(secret_pointers(schema)) == []


def test_invisible_characters_are_spelt_out() -> None:
    assert "⟨U+202E⟩" in shown_value({"a\u202e": "b"}).text


def test_a_long_value_is_cut_with_a_word_about_it() -> None:
    shown = shown_value({"text": "x" * (LONGEST + 500)})
    assert "more characters" in shown.text
    assert len(shown.text) < LONGEST + 100
