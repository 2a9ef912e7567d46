"""Strict JSON: the public corpus, our own bounds, and agreement with the standard library."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import strict_json
from contextos.core.errors import ContextOSError, http_status
from tests.core.corpora import corpus_files

DUPLICATE_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


stdlib_loads = json.JSONDecoder().decode


def outcome(data: bytes | str) -> str:
    """`accepted` or the code of the refusal; anything else that is raised fails the test."""
    try:
        strict_json.loads(data)
    except ContextOSError as error:
        return error.code
    return "accepted"


def refusal(data: bytes | str, **options: Any) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        strict_json.loads(data, **options)
    return caught.value


@pytest.mark.proves("C13")
@pytest.mark.parametrize("path", corpus_files("json-parsing", "test_parsing/n_*.json"))
def test_what_is_not_json_is_refused_with_a_code(path: Path) -> None:
    assert refusal(path.read_bytes(), allow_unstorable=True).code.startswith("json.")


@pytest.mark.parametrize("path", corpus_files("json-parsing", "test_parsing/y_*.json"))
def test_what_is_json_is_accepted_unless_a_key_is_repeated(path: Path) -> None:
    if path.name in DUPLICATE_KEYS:
        assert refusal(path.read_bytes()).code == "json.duplicate_key"
        return
    parsed = strict_json.loads(path.read_bytes(), allow_unstorable=True)
    assert parsed == stdlib_loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", corpus_files("json-parsing", "test_parsing/*.json"))
def test_no_document_raises_anything_but_a_coded_error(path: Path) -> None:
    assert outcome(path.read_bytes()).startswith(("accepted", "json."))


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (r'["\u0000"]', "/0"),
        (r'{"a": {"b\u0000": 1}}', "/a/b\ufffd"),
        (r'{"a/b": "\ud800"}', "/a~1b"),
        (r'{"\udfff": 1}', "/\ufffd"),
        ('["\ud800"]', None),
    ],
)
def test_what_can_not_be_stored_is_refused_and_located(document: str, pointer: str | None) -> None:
    error = refusal(document)
    assert (error.code, http_status(error)) == ("json.unstorable", 400)
    assert error.data.get("pointer") == pointer


def test_a_surrogate_pair_is_one_storable_character() -> None:
    assert strict_json.loads(r'"\ud83d\ude00"') == "\U0001f600"


def test_a_syntax_error_is_located() -> None:
    error = refusal(b'{\n  "a": tru\n}')
    assert (error.data["line"], error.data["column"]) == (2, 8)


def test_a_repeated_key_is_named_even_deep_inside() -> None:
    error = refusal(b'[{"x": {"amount": 1, "amount": 2}}]')
    assert (error.code, error.data["key"]) == ("json.duplicate_key", "amount")


def test_keys_that_differ_only_in_escaping_are_the_same_key() -> None:
    assert refusal(rb'{"a": 1, "\u0061": 2}').code == "json.duplicate_key"


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_a_hundred_thousand_open_brackets_do_not_crash(opening: str) -> None:
    assert refusal(opening * 100_000).code == "json.too_deep"


def test_depth_is_allowed_up_to_the_bound_and_not_beyond() -> None:
    assert strict_json.loads("[" * 64 + "]" * 64)
    assert refusal("[" * 65 + "]" * 65).code == "json.too_deep"


def test_a_generous_depth_still_never_overflows_the_stack() -> None:
    document = "[" * 200_000 + "]" * 200_000
    assert refusal(document, max_depth=1_000_000).code == "json.too_deep"


def test_siblings_and_brackets_inside_strings_do_not_count_as_depth() -> None:
    siblings = "[" + ",".join(["[]"] * 1000) + "]"
    assert len(strict_json.loads_object(f'{{"a": {siblings}}}')) == 1
    assert strict_json.loads(json.dumps("[{" * 1000)) == "[{" * 1000
    assert strict_json.loads(json.dumps(['\\"[' * 500])) == ['\\"[' * 500]


def test_an_unclosed_string_full_of_escaped_quotes_is_scanned_in_linear_time() -> None:
    document = "[" * 65 + '"' + '\\"' * 400_000
    assert refusal(document).code == "json.too_deep"
    assert refusal("[" * 60 + '"' + '[\\"' * 200_000).code == "json.malformed"


def test_size_is_counted_in_bytes() -> None:
    assert strict_json.loads('"éé"', max_bytes=6) == "éé"
    error = refusal('"éé"', max_bytes=5)
    assert (error.code, http_status(error)) == ("json.too_large", 413)
    assert refusal(b" " * (strict_json.MAX_BYTES + 1)).code == "json.too_large"


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_javascript_knows_and_json_does_not_are_refused(constant: str) -> None:
    assert refusal(f"[{constant}]").code == "json.malformed"


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 310 + ".0"])
def test_a_number_that_would_become_infinite_is_refused(number: str) -> None:
    assert refusal(number).code == "json.number_out_of_range"


def test_integers_beyond_53_bits_parse_but_absurd_ones_are_refused() -> None:
    assert strict_json.loads(str(2**80)) == 2**80
    error = refusal("9" * 5000)
    assert (error.code, http_status(error)) == ("json.integer_too_large", 422)


def test_a_body_that_is_not_an_object_is_refused_where_an_object_is_needed() -> None:
    with pytest.raises(ContextOSError) as caught:
        strict_json.loads_object("[]")
    assert caught.value.code == "json.not_an_object"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_dumps_refuses_what_has_no_json_form(value: object) -> None:
    with pytest.raises(ContextOSError) as caught:
        strict_json.dumps(value)
    assert caught.value.code == "json.unstorable"


@given(JSON_VALUES)
def test_on_valid_documents_it_agrees_with_the_standard_library(value: object) -> None:
    document = json.dumps(value)
    assert strict_json.loads(document, allow_unstorable=True) == stdlib_loads(document)


@given(JSON_VALUES.filter(lambda value: "\\u0000" not in json.dumps(value)))
def test_what_dumps_writes_loads_reads(value: object) -> None:
    assert strict_json.loads(strict_json.dumps(value)) == value


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u0dtrue1.e-\x00 ', max_size=60))
def test_rubbish_raises_nothing_but_coded_errors(data: bytes | str) -> None:
    assert outcome(data).startswith(("accepted", "json."))
