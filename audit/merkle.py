"""The Merkle tree of RFC 6962: hashes, roots, proofs made and verified (pure; E2).

A leaf's inclusion and a smaller tree's consistency are one question: which hashes lead from the
subtree over the leaves [start, end) to the root over all of them? `_way_up` answers it for those
who make proofs, `_climb` for those who check them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()
_LEAF, _NODE = b"\x00", b"\x01"  # a leaf can't be mistaken for an inner node
_MOST_LEAVES = 2**63
# A node of the log's tables stands for this many of the level below (`256 ** level` leaves).
FANOUT_BITS = 8

Subtree = tuple[int, int]  # the leaves [start, end)


# --- hashes --------------------------------------------------------------------------------------
def leaf_hash(content: bytes) -> bytes:
    """SHA-256(0x00 || content)."""
    return hashlib.sha256(_LEAF + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 || left || right)."""
    return hashlib.sha256(_NODE + left + right).digest()


def root_of(leaves: Iterable[bytes]) -> bytes:
    """The root over the hashes of leaves; that of no leaves is the hash of nothing."""
    tree = CompactTree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root()


def complete_root(hashes: Sequence[bytes]) -> bytes:
    """The root over a power of two of hashes, level by level: logs have millions of them."""
    sha256 = hashlib.sha256
    while len(hashes) > 1:
        pairs = iter(hashes)
        hashes = [
            sha256(_NODE + left + right).digest() for left, right in zip(pairs, pairs, strict=True)
        ]
    return hashes[0]


class CompactTree:
    """A growing tree by the roots of its complete subtrees, largest first: 64 hashes at most."""

    def __init__(self, size: int = 0, peaks: Sequence[bytes] = ()) -> None:
        if size.bit_count() != len(peaks):
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} peaks")
        self.size = size
        self._peaks = list(peaks)

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The roots of its complete subtrees, largest first."""
        return tuple(self._peaks)

    def append(self, leaf: bytes) -> bytes:
        """Add the hash of one leaf; the root of the largest subtree it completes."""
        return self.append_subtree(leaf, 0)

    def append_subtree(self, root: bytes, height: int) -> bytes:
        """Add a complete subtree of 2**height leaves, where the size is a multiple of that."""
        if self.size & ((1 << height) - 1):
            raise ValueError(f"no subtree of height {height} begins at leaf {self.size}")
        rest = self.size >> height
        while rest & 1:
            root, rest = node_hash(self._peaks.pop(), root), rest >> 1
        self._peaks.append(root)
        self.size += 1 << height
        return root

    def grow(self, leaves: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
        """Add leaves; (level, position, root) of each subtree of 256**level leaves completed."""
        waiting = list(leaves)
        taken = iter(waiting)
        for height, _ in complete_parts(self.size, self.size + len(waiting), FANOUT_BITS):
            yield from self._grown_by(complete_root(list(islice(taken, 1 << height))), height)

    def root(self) -> bytes:
        """The root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        found = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            found = node_hash(peak, found)
        return found

    def _grown_by(self, root: bytes, height: int) -> Iterator[tuple[int, int, bytes]]:
        """Add a complete subtree that is no larger than what a stored node stands for."""
        leaves, rest = 1 << height, self.size >> height
        if height == FANOUT_BITS:
            yield 1, rest, root
        while rest & 1:
            root, height, rest = node_hash(self._peaks.pop(), root), height + 1, rest >> 1
            if height % FANOUT_BITS == 0:
                yield height // FANOUT_BITS, self.size >> height, root
        self._peaks.append(root)
        self.size += leaves


# --- proofs --------------------------------------------------------------------------------------
def inclusion_path(index: int, size: int) -> list[Subtree]:
    """The subtrees whose roots prove leaf `index` in the tree of `size` leaves, in order."""
    if not 0 <= index < size <= _MOST_LEAVES:
        raise ValueError(f"leaf {index} is not among {size}")
    return list(_way_up(index, index + 1, 0, size))


def consistency_path(first: int, second: int) -> list[Subtree]:
    """The subtrees whose roots prove that the tree of `second` leaves goes on from `first`."""
    if not 0 < first <= second <= _MOST_LEAVES:
        raise ValueError(f"a tree of {second} leaves can't go on from one of {first}")
    return list(_way_up(0, first, 0, second))


def verify_inclusion(
    *, leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether the leaf with this hash is number `index` among the `size` under the root."""
    if not 0 <= index < size or len(leaf) != HASH_BYTES:
        return False
    return verify_subtree(
        subtree=(index, index + 1), subtree_root=leaf, size=size, proof=proof, root=root
    )


def verify_consistency(
    *, first: int, second: int, proof: Sequence[bytes], first_root: bytes, second_root: bytes
) -> bool:
    """Whether the second tree begins with the leaves of the first; nothing follows from none."""
    if first < 1:
        return False
    return verify_subtree(
        subtree=(0, first), subtree_root=first_root, size=second, proof=proof, root=second_root
    )


def verify_subtree(
    *, subtree: Subtree, subtree_root: bytes, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether the proof leads from the root over a subtree's leaves to the root over all."""
    start, end = subtree
    if not 0 <= start <= end <= size <= _MOST_LEAVES:
        return False
    if start == end:  # every tree holds nothing, anywhere
        return not proof and subtree_root == EMPTY_ROOT
    # Hashes of another length would let one text be read as two.
    if not is_subtree(start, end) or any(len(given) != HASH_BYTES for given in proof):
        return False
    return _leads_up(start, end, size, subtree_root, root, proof)


def _leads_up(
    start: int, end: int, size: int, subtree_root: bytes, root: bytes, proof: Sequence[bytes]
) -> bool:
    given = iter(proof)
    try:
        found, whole = _climb(start, end, size, subtree_root, given)
    except StopIteration:
        return False
    complete = next(given, None) is None
    same = hmac.compare_digest(found, subtree_root) and hmac.compare_digest(whole, root)
    return complete and same


def is_subtree(start: int, end: int) -> bool:
    """Whether some tree has one node over exactly these leaves."""
    if not 0 <= start < end:
        return False
    width = 1 << (end - start - 1).bit_length()
    return start % width == 0


def verify_subtree_inclusion(
    *, leaf: bytes, index: int, subtree: Subtree, proof: Sequence[bytes], root: bytes
) -> bool:
    """Whether leaf number `index` of the log is under the root of a subtree."""
    start, end = subtree
    if not is_subtree(start, end) or index < start:
        return False
    return verify_inclusion(
        leaf=leaf, index=index - start, size=end - start, proof=proof, root=root
    )


def complete_parts(start: int, end: int, highest: int = 63) -> Iterator[tuple[int, int]]:
    """(height, position) of the largest complete subtrees that make up [start, end), in order."""
    while start < end:
        fits = min(highest, (end - start).bit_length() - 1)
        height = min(fits, (start & -start).bit_length() - 1) if start else fits
        yield height, start >> height
        start += 1 << height


def root_over(start: int, end: int, complete: Callable[[int, int], bytes]) -> bytes:
    """The root over [start, end), a node of the tree, from roots of complete subtrees."""
    parts = [complete(height, position) for height, position in complete_parts(start, end)]
    found = parts[-1]
    for part in reversed(parts[:-1]):
        found = node_hash(part, found)
    return found


def _way_up(start: int, end: int, offset: int, size: int, known: bool = True) -> Iterator[Subtree]:
    """The subtrees beside the way from [start, end) to the root over `size` leaves."""
    if (start, end) == (0, size):
        if not known:
            yield offset, offset + size
        return
    split = _split(size)
    left, right = (offset, offset + split), (offset + split, offset + size)
    if end <= split:
        yield from _way_up(start, end, offset, split, known)
        yield right
    elif start >= split:
        yield from _way_up(start - split, end - split, offset + split, size - split, known)
        yield left
    else:  # it begins with the whole left half: what is wanted of the right one is not known
        yield from _way_up(0, end - split, offset + split, size - split, known=False)
        yield left


def _climb(
    start: int, end: int, size: int, known: bytes | None, proof: Iterator[bytes]
) -> tuple[bytes, bytes]:
    """The roots over [start, end) and over all `size` leaves, as the proof has them."""
    if (start, end) == (0, size):
        found = next(proof) if known is None else known
        return found, found
    split = _split(size)
    if end <= split:
        found, left = _climb(start, end, split, known, proof)
        return found, node_hash(left, next(proof))
    if start >= split:
        found, right = _climb(start - split, end - split, size - split, known, proof)
        return found, node_hash(next(proof), right)
    found, right = _climb(0, end - split, size - split, None, proof)
    left = next(proof)
    return node_hash(left, found), node_hash(left, right)


def _split(size: int) -> int:
    """The largest power of two below the size."""
    return 1 << (size - 1).bit_length() - 1
