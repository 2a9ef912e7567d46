"""Changes made together do not hide each other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.manifest import normalise
from registry.risk_diff import diff_manifests
from tests.depth import examples
from tests.registry.risk_diff.manifests import payments
from tests.registry.risk_diff.mutations import GONE, MUTATIONS, Mutation, put

# Where a dialect or a reference is unclear, what lies behind it is left to the catch-all.
_HIDES_OTHERS = {
    "schema.identity",
    "schema.reference",
    "schema.dynamic_reference",
    "schema.acceptance",
}


def _stands_alone(mutation: Mutation) -> bool:
    """Whether a mutation leaves the places of all others where they are."""
    removes_entry = mutation.value is GONE and mutation.pointer.rsplit("/", 1)[1].isdecimal()
    hides_others = mutation.rule in _HIDES_OTHERS
    cuts_off = mutation.pointer.endswith(("_schema_ref",))
    return mutation.base is payments and not (removes_entry or hides_others or cuts_off)


def _compatible(chosen: list[Mutation]) -> list[Mutation]:
    kept: list[Mutation] = []
    for mutation in chosen:
        if not any(_clash(mutation, other) for other in kept):
            kept.append(mutation)
    return kept


def _clash(one: Mutation, other: Mutation) -> bool:
    parent = one.pointer.rsplit("/", 1)[0] == other.pointer.rsplit("/", 1)[0]
    first, second = sorted((f"{one.pointer}/", f"{other.pointer}/"))
    return second.startswith(first) or (parent and one.rule == other.rule)


_ALONE = [mutation for mutation in MUTATIONS if _stands_alone(mutation)]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from(_ALONE), min_size=2, max_size=6))
def test_several_changes_at_once_are_each_still_reported(chosen: list[Mutation]) -> None:
    new = payments()
    mutations = _compatible(chosen)
    for mutation in mutations:
        put(new, mutation.pointer, mutation.value)
    diff = diff_manifests(normalise(payments()), normalise(new))
    for mutation in mutations:
        ranks = [change.direction.rank for change in diff.changes if change.rule == mutation.rule]
        assert ranks, str(mutation)
        assert min(ranks) <= mutation.expected.rank, str(mutation)
