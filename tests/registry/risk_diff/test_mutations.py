"""Every classed mutation is reported as a person classed it, and never as something milder."""

import pytest

from registry.manifest import normalise
from registry.risk_diff import Direction, RiskDiff, Verdict, diff_manifests
from tests.registry.risk_diff.mutations import MUTATIONS, Mutation


def _diff(mutation: Mutation) -> RiskDiff:
    return diff_manifests(normalise(mutation.before()), normalise(mutation.after()))


def _worst(diff: RiskDiff) -> Direction:
    return min((change.direction for change in diff.changes), key=lambda found: found.rank)


@pytest.mark.proves("B3", "B9")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_mutation_is_reported_as_it_was_classed(mutation: Mutation) -> None:
    diff = _diff(mutation)
    named = {(change.rule, change.direction) for change in diff.changes}
    assert (mutation.rule, mutation.expected) in named, diff.as_dict()
    assert _worst(diff) is mutation.expected, diff.as_dict()
    for change in diff.changes:
        assert change.message.endswith("."), change.message
        assert change.why.endswith("."), change.why
        assert "MISSING" not in change.message


@pytest.mark.parametrize(
    "mutation", [m for m in MUTATIONS if m.expected is Direction.WIDENS], ids=str
)
def test_widening_taken_back_is_never_neutral(mutation: Mutation) -> None:
    back = diff_manifests(normalise(mutation.after()), normalise(mutation.before()))
    assert back.verdict in (Verdict.WIDENS, Verdict.NARROWS), back.as_dict()
    assert all(
        change.direction is not Direction.NEUTRAL
        for change in back.changes
        if change.rule == mutation.rule
    )


@pytest.mark.parametrize(
    "mutation", [m for m in MUTATIONS if m.expected is Direction.NARROWS], ids=str
)
def test_narrowing_taken_back_needs_review(mutation: Mutation) -> None:
    back = diff_manifests(normalise(mutation.after()), normalise(mutation.before()))
    assert back.verdict is Verdict.WIDENS, back.as_dict()


def test_there_are_more_than_two_hundred_mutations_and_each_is_different() -> None:
    assert len({str(mutation) for mutation in MUTATIONS}) == len(MUTATIONS)
    assert len(MUTATIONS) >= 300
