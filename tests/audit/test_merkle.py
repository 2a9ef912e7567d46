"""The Merkle tree: every case of the public corpus, and what holds for trees of any size."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import merkle
from contextos.core import strict_json
from tests.core.corpora import corpus

pytestmark = pytest.mark.proves("E2")
CASES = sorted(corpus("merkle").glob("testdata/**/*.json"))
LEAVES = [merkle.leaf_hash(str(number).encode()) for number in range(600)]
SIZES = st.integers(1, len(LEAVES))


def by_definition(leaves: list[bytes]) -> bytes:
    """The root as RFC 6962 writes it, halves within halves."""
    if not leaves:
        return merkle.EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return merkle.node_hash(by_definition(leaves[:half]), by_definition(leaves[half:]))


def proved(path: list[merkle.Subtree]) -> list[bytes]:
    return [by_definition(LEAVES[start:end]) for start, end in path]


def verdict(kind: str, case: dict[str, Any]) -> bool:
    proof = [base64.b64decode(text) for text in case["proof"] or []]
    hashes = {
        name: base64.b64decode(case[name] or "")
        for name in ("root", "root1", "root2", "leafHash")
        if name in case
    }
    if kind == "inclusion":
        return merkle.verify_inclusion(
            leaf=hashes["leafHash"],
            index=case["leafIdx"],
            size=case["treeSize"],
            proof=proof,
            root=hashes["root"],
        )
    if kind == "consistency":
        return merkle.verify_consistency(
            first=case["size1"],
            second=case["size2"],
            proof=proof,
            first_root=hashes["root1"],
            second_root=hashes["root2"],
        )
    subtree = case["start"], case["end"]
    if kind == "subtreeinclusion":
        return merkle.verify_subtree_inclusion(
            leaf=hashes["leafHash"],
            index=case["leafIdx"],
            subtree=subtree,
            proof=proof,
            root=hashes["root"],
        )
    return merkle.verify_subtree(
        subtree=subtree,
        subtree_root=hashes["root1"],
        size=case["size"],
        proof=proof,
        root=hashes["root2"],
    )


@pytest.mark.skipif(not CASES, reason="corpus 'merkle' not found; set CONTEXTOS_CORPORA")
@pytest.mark.parametrize(
    "kind", ["inclusion", "consistency", "subtreeinclusion", "subtreeconsistency"]
)
def test_every_case_of_the_public_corpus_is_judged_right(kind: str) -> None:
    files = [path for path in CASES if f"/testdata/{kind}/" in path.as_posix()]
    cases = {str(path): strict_json.loads_object(Path(path).read_text()) for path in files}
    wrong = [name for name, case in cases.items() if verdict(kind, case) is case["wantErr"]]
    assert len(cases) > 90
    assert not wrong


@given(size=st.integers(0, 300))
def test_a_root_is_what_the_definition_says(size: int) -> None:
    assert merkle.root_of(LEAVES[:size]) == by_definition(LEAVES[:size])


@given(data=st.data(), size=SIZES)
def test_every_leaf_can_be_proved_and_nothing_else_by_its_proof(data: Any, size: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    other = data.draw(st.integers(0, len(LEAVES) - 1).filter(lambda n: n != index))
    proof, root = proved(merkle.inclusion_path(index, size)), merkle.root_of(LEAVES[:size])
    where: dict[str, Any] = {"index": index, "size": size, "root": root}
    assert merkle.verify_inclusion(leaf=LEAVES[index], proof=proof, **where)
    assert not merkle.verify_inclusion(leaf=LEAVES[other], proof=proof, **where)
    assert not merkle.verify_inclusion(leaf=LEAVES[index], proof=[*proof, root], **where)
    assert not merkle.verify_inclusion(leaf=LEAVES[index], proof=[root, *proof], **where)
    for place in range(len(proof)):
        turned = bytes([proof[place][0] ^ 1]) + proof[place][1:]
        bent = [*proof[:place], turned, *proof[place + 1 :]]
        assert not merkle.verify_inclusion(leaf=LEAVES[index], proof=bent, **where)


@given(first=SIZES, second=SIZES)
def test_a_tree_is_consistent_with_each_beginning_and_with_no_other(
    first: int, second: int
) -> None:
    first, second = sorted((first, second))
    proof = proved(merkle.consistency_path(first, second))
    roots = merkle.root_of(LEAVES[:first]), merkle.root_of(LEAVES[:second])
    sizes: dict[str, Any] = {"first": first, "second": second, "proof": proof}
    assert merkle.verify_consistency(**sizes, first_root=roots[0], second_root=roots[1])
    forged = merkle.root_of([*LEAVES[: first - 1], merkle.leaf_hash(b"another")])
    assert not merkle.verify_consistency(**sizes, first_root=forged, second_root=roots[1])
    grown = merkle.root_of([*LEAVES[:second], merkle.leaf_hash(b"one more")])
    assert not merkle.verify_consistency(**sizes, first_root=roots[0], second_root=grown)


@given(size=SIZES)
def test_a_tree_that_grew_in_two_steps_has_the_same_root_and_nodes(size: int) -> None:
    whole, half = merkle.CompactTree(), merkle.CompactTree()
    nodes = list(whole.grow(LEAVES[:size]))
    found = list(half.grow(LEAVES[: size // 2]))
    again = merkle.CompactTree(half.size, half.peaks)
    found += again.grow(LEAVES[size // 2 : size])
    assert (again.root(), found) == (whole.root(), nodes)
    assert [(level, position) for level, position, _ in nodes] == [
        (1, number) for number in range(size // 256)
    ]
    for _, position, root in nodes:
        assert root == by_definition(LEAVES[position * 256 : position * 256 + 256])


def test_a_leaf_or_proof_of_another_length_proves_nothing() -> None:
    root = merkle.node_hash(LEAVES[0], LEAVES[1])
    where: dict[str, Any] = {"index": 0, "size": 2, "root": root}
    assert merkle.verify_inclusion(leaf=LEAVES[0], proof=[LEAVES[1]], **where)
    assert not merkle.verify_inclusion(leaf=b"", proof=[LEAVES[0] + LEAVES[1]], **where)
    assert not merkle.verify_inclusion(leaf=LEAVES[0][:31], proof=[b"\0" + LEAVES[1]], **where)


@pytest.mark.parametrize(("index", "size"), [(-1, 1), (1, 1), (0, 0), (2**64, 2**64 + 1)])
def test_a_path_outside_the_tree_is_no_path(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="not among"):
        merkle.inclusion_path(index, size)
