"""What is proven about patterns holds for a real regular expression engine."""

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.risk_diff.patterns import PatternOrder, compare_patterns
from tests.depth import examples


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ("^ik_[a-z0-9]{16}$", "^ik_[a-z0-9]{16}$", PatternOrder.SAME),
        ("^ik_[a-z0-9]{16}$", "^ik_[0-9a-z]{16}$", PatternOrder.SAME),
        ("^ik_[a-z0-9]{16}$", "^ik_[a-f0-9]{16}$", PatternOrder.NARROWER),
        ("^ik_[a-z0-9]{16}$", "^ik_[a-z0-9]{8,16}$", PatternOrder.WIDER),
        ("^a+$", "^a*$", PatternOrder.WIDER),
        ("^a?$", "^a$", PatternOrder.NARROWER),
        ("^a\\.b$", "^a\\.b?$", PatternOrder.WIDER),
        ("^a$", "a", PatternOrder.UNPROVEN),
        ("^a$", "^a|b$", PatternOrder.UNPROVEN),
        ("^[^a]$", "^[^ab]$", PatternOrder.UNPROVEN),
        ("^\\d$", "^[0-9]$", PatternOrder.UNPROVEN),
        ("^ab$", "^a\\$", PatternOrder.UNPROVEN),
        ("^a{2}$", "^a{2}?$", PatternOrder.UNPROVEN),
        ("^a{3,2}$", "^a$", PatternOrder.UNPROVEN),
        ("^[z-a]$", "^a$", PatternOrder.UNPROVEN),
        ("^a-b$", "^a$b$", PatternOrder.UNPROVEN),
    ],
)
def test_patterns_are_ordered_only_where_it_is_certain(
    old: str, new: str, order: PatternOrder
) -> None:
    assert compare_patterns(old, new) is order


_parts = st.sampled_from(
    ("a", "b", "[ab]", "[a-c]", "[abc-]", "\\.", "-", "[.]", ".", "\\w", "(a|b)")
)
_repeats = st.sampled_from(("", "", "?", "*", "+", "{1}", "{2}", "{0,2}", "{1,}", "+?"))
_bodies = st.lists(st.builds(str.__add__, _parts, _repeats), max_size=3).map("".join)
_patterns = st.builds(
    lambda start, body, end: f"{start}{body}{end}",
    st.sampled_from(("^", "^", "^", "")),
    _bodies,
    st.sampled_from(("$", "$", "$", "")),
)
_texts = st.lists(st.text(alphabet="abc.-\n", max_size=4), min_size=5, max_size=30)


def _matches(pattern: str, text: str) -> bool:
    return bool(jsonschema_rs.is_valid({"pattern": pattern}, text))


@settings(max_examples=examples(200), deadline=None)
@given(_patterns, _patterns, _texts)
def test_no_text_contradicts_a_proof(old: str, new: str, texts: list[str]) -> None:
    order = compare_patterns(old, new)
    if order is PatternOrder.UNPROVEN:
        return
    for text in texts:
        if order in (PatternOrder.NARROWER, PatternOrder.SAME):
            assert _matches(old, text) or not _matches(new, text)
        if order in (PatternOrder.WIDER, PatternOrder.SAME):
            assert _matches(new, text) or not _matches(old, text)
