"""JSON pointers: every place has one name, and every name leads back to its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.json_pointer import escape, join, split, unescape, walk


@given(st.lists(st.text()))
def test_a_path_survives_being_written_as_a_pointer(path: list[str]) -> None:
    assert split(join(path)) == tuple(path)


@given(st.text())
def test_escaping_hides_the_separator_and_can_be_undone(token: str) -> None:
    assert "/" not in escape(token)
    assert unescape(escape(token)) == token


@pytest.mark.parametrize(
    ("pointer", "path"), [("", ()), ("/", ("",)), ("/a~1b/~01", ("a/b", "~1"))]
)
def test_pointers_are_read_as_the_rfc_says(pointer: str, path: tuple[str, ...]) -> None:
    assert split(pointer) == path


def test_a_pointer_without_a_leading_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON pointer"):
        split("a/b")


def test_a_walk_meets_every_value_and_every_key() -> None:
    met = set(map(str, walk({"a": [1, {"b/c": None}]})))
    assert str(("/a/1/b~1c", "b/c")) in met
    assert str(("/a/1/b~1c", None)) in met
    assert str(("/a/0", 1)) in met
    assert len(met) == 7
