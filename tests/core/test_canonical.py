"""Canonical JSON: the RFC's own vectors, and equal bytes for equal values."""

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import canonical, strict_json
from contextos.core.errors import ContextOSError, http_status
from tests.core.corpora import corpus_files

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
SAFE_INTEGERS = st.integers(-canonical.MAX_SAFE_INTEGER, canonical.MAX_SAFE_INTEGER)
# Whole doubles from 2^53 to 1e21 are refused: their canonical text would read back as integers.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not 2**53 <= abs(number) < 1e21
)
CANONICAL_VALUES = st.recursive(
    st.none() | st.booleans() | SAFE_INTEGERS | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=20,
)


ASCII_KEYS = st.text(st.characters(max_codepoint=127, exclude_characters="\x00"))
# What the fast way takes: no floats, keys in ASCII, any text as a value.
PLAIN_VALUES = st.recursive(
    st.none() | st.booleans() | SAFE_INTEGERS | TEXT,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(ASCII_KEYS, inner, max_size=8)
    ),
    max_leaves=30,
)


def refusal(value: object) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        canonical.canonicalise(value)
    return caught.value


def shuffled(value: Any) -> Any:
    """The same JSON value with the members of every object in another order."""
    if isinstance(value, dict):
        members = [(key, shuffled(member)) for key, member in value.items()]
        random.Random(7).shuffle(members)
        return dict(members)
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@pytest.mark.proves("E2")
@pytest.mark.parametrize("path", corpus_files("jcs", "testdata/input/*.json"))
def test_the_vectors_of_the_rfc_match_byte_for_byte(path: Path) -> None:
    testdata = path.parents[1]
    encoded = canonical.canonicalise(strict_json.loads(path.read_bytes()))
    assert encoded == (testdata / "output" / path.name).read_bytes()
    assert encoded == bytes.fromhex((testdata / "outhex" / f"{path.stem}.txt").read_text())


@given(PLAIN_VALUES | CANONICAL_VALUES)
def test_every_way_to_write_a_value_gives_the_bytes_of_the_reference(value: Any) -> None:
    assert canonical.canonicalise(value) == rfc8785.dumps(value)


def test_every_character_is_written_as_the_reference_writes_it() -> None:
    for start in range(1, 0x110000, 0x400):
        letters = [chr(code) for code in range(start, min(start + 0x400, 0x110000))]
        text = "".join(letter for letter in letters if not "\ud800" <= letter <= "\udfff")
        assert canonical.canonicalise([text]) == rfc8785.dumps([text])


@given(CANONICAL_VALUES)
def test_canonical_bytes_read_back_as_the_same_value(value: object) -> None:
    encoded = canonical.canonicalise(value)
    assert strict_json.loads(encoded) == value
    assert canonical.canonicalise(strict_json.loads(encoded)) == encoded


@given(CANONICAL_VALUES)
def test_the_order_in_which_keys_were_written_does_not_matter(value: object) -> None:
    assert canonical.canonicalise(shuffled(value)) == canonical.canonicalise(value)
    assert canonical.digest(shuffled(value)) == canonical.digest(value)


def test_a_digest_names_its_algorithm() -> None:
    assert canonical.digest({}) == (
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )
    assert canonical.digest({}) == canonical.digest_bytes(b"{}")


@pytest.mark.parametrize("integer", [2**53, -(2**53), 10**400, 1e16, -9.9e20])
def test_an_integer_that_a_double_can_not_hold_is_unprocessable(integer: float) -> None:
    error = refusal({"args": [1, integer]})
    assert (error.code, http_status(error)) == ("json.integer_too_large", 422)
    assert error.data["pointer"] == "/args/1"


def test_large_numbers_that_read_back_as_they_were_written_are_kept() -> None:
    assert canonical.canonicalise([1e21, "1234567890123456789"]) == b'[1e+21,"1234567890123456789"]'
    assert canonical.canonicalise(2**53 - 1) == b"9007199254740991"


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        "\ud800",
        {"\udfff": 1},
        "a\x00b",
        {"\x00": 1},
        Decimal("1.5"),
        b"bytes",
        {1: "a"},
        {"when": {1, 2}},
    ],
)
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    error = refusal(value)
    assert (error.code, http_status(error)) == ("json.unstorable", 400)


def test_text_that_merely_looks_like_an_escaped_null_is_fine() -> None:
    assert canonical.canonicalise("\\u0000") == b'"\\\\u0000"'


def test_a_value_nested_beyond_the_stack_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert refusal(value).code == "json.too_deep"


@given(
    st.dictionaries(TEXT, CANONICAL_VALUES, max_size=6),
    st.sampled_from(["args", "output", "record_hash", "", "~", "\ufb33", "\U0001f600"]),
    CANONICAL_VALUES,
)
def test_an_object_put_together_around_a_member_has_the_bytes_of_the_reference(
    members: dict[str, Any], name: str, value: Any
) -> None:
    frame = canonical.frame_around(name, members)
    assert frame.holding(rfc8785.dumps(value)) == rfc8785.dumps({**members, name: value})


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    assert refusal(value).code == "json.too_deep"
