"""A pasted text that is no document is refused at its line and column."""

from __future__ import annotations

import pytest

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_faults import JsonFault, fault_of


def _fault(text: str) -> JsonFault:
    with pytest.raises(ContextOSError) as refusal:
        strict_json.loads_object(text)
    return fault_of(text, refusal.value)


def test_broken_syntax_is_shown_on_its_line_with_its_surroundings() -> None:
    fault = _fault('{\n  "a": 1,\n  "b" 2\n}')
    assert (fault.line, fault.column) == (3, 7)
    assert [line.number for line in fault.excerpt] == [1, 2, 3, 4]
    assert [line.text for line in fault.excerpt if line.at_fault] == ['  "b" 2']


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n "b": {"c": 1,\n   "c": 2}}', (3, 4)),
        ('[{"a": 1}, {"a": 1,\n"a": 3}]', (2, 1)),
        ('{"x": ["a", "a"], "y": {"x": 1},\n "x": 1}', (2, 2)),
        ('{"\\u0061": 1,\n "a": 2}', (2, 2)),
    ],
)
def test_a_repeated_key_is_found_where_it_stands_the_second_time(
    text: str, place: tuple[int, int]
) -> None:
    with pytest.raises(ContextOSError) as refusal:
        strict_json.loads(text)
    fault = fault_of(text, refusal.value)
    assert (fault.line, fault.column) == place


def test_too_deep_nesting_is_shown_where_it_goes_too_far() -> None:
    fault = _fault('{"a":\n' + "[" * 200 + "]" * 200 + "}")
    assert (fault.line, fault.column) == (2, 64)


def test_a_character_that_cannot_be_stored_is_shown_at_its_member() -> None:
    fault = _fault('{\n"a": "x",\n"b": "\\u0000"}')
    assert fault.line == 3


def test_what_has_no_place_is_told_without_one() -> None:
    text = "[1]"
    fault = _fault(text)
    assert (fault.line, fault.excerpt) == (None, ())
    assert fault.message


def test_invisible_characters_of_the_text_are_spelt_out() -> None:
    fault = _fault('{\n"\u202eevil": }')
    assert "⟨U+202E⟩" in "".join(line.text for line in fault.excerpt)


def test_a_long_hostile_text_is_scanned_in_reasonable_time() -> None:
    text = '{"a": 1, ' + '"b\\\\' * 200_000 + '"a": 2}'
    with pytest.raises(ContextOSError) as refusal:
        strict_json.loads_object(text, max_bytes=5_000_000)
    assert fault_of(text, refusal.value).message
