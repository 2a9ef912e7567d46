"""Semantic versions: read to the letter, ordered as the specification orders them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError
from contextos.review.semver import next_version, require_semver, sort_key

# The chain of section 11 of the specification, each lower than the next.
ORDERED = [
    "0.9.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.2.0",
    "1.10.0",
    "2.0.0",
]


@pytest.mark.parametrize("text", [*ORDERED, "1.0.0+build.1", "1.0.0-0A.is.legal", "1.0.0--"])
def test_a_semantic_version_is_taken_as_it_is(text: str) -> None:
    assert require_semver(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.2",
        "1.2.3.4",
        "v1.2.3",
        "01.2.3",
        "1.02.3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3+",
        "1.2.3-a..b",
        "1.2.3\n",
        " 1.2.3",
        "1.2.x",
        "1.2.٣",
        "1.2.3-\u00e9",
        "1000000000.0.0",
        "1.0.0-" + "a" * 60,
        None,
        1.0,
        ["1.0.0"],
    ],
)
def test_anything_else_is_refused(text: object) -> None:
    with pytest.raises(ContextOSError) as refusal:
        require_semver(text)
    assert refusal.value.code == "manifest.version_malformed"


def test_precedence_is_that_of_the_specification() -> None:
    assert sorted(sorted(ORDERED), key=sort_key) == ORDERED
    assert sort_key("1.0.0+a") == sort_key("1.0.0+b")


@pytest.mark.parametrize(
    ("existing", "following"),
    [
        ([], "1.0.0"),
        (["1.0.0"], "1.1.0"),
        (["1.9.0", "1.10.3"], "1.11.0"),
        (["2.0.0-rc.1", "1.5.0"], "2.1.0"),
    ],
)
def test_the_next_number_follows_the_highest(existing: list[str], following: str) -> None:
    assert next_version(existing) == following


def test_past_the_last_number_one_is_asked_for() -> None:
    with pytest.raises(ContextOSError):
        next_version(["1.999999999.0"])


@given(st.lists(st.tuples(*[st.integers(0, 999)] * 3), min_size=1))
def test_the_next_number_is_above_all_that_exist(numbers: list[tuple[int, int, int]]) -> None:
    existing = [".".join(map(str, number)) for number in numbers]
    assert all(sort_key(next_version(existing)) > sort_key(text) for text in existing)
