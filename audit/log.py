"""Reading the log: where a leaf stands, what was signed, and the proofs between them (E2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import or_

from django.db.models import Q

from audit import merkle
from audit.models import Checkpoint, LogLeaf, LogNode
from contextos.core.errors import coded_error

AT_ONCE = 500
Span = tuple[int, int]  # places [from, to) of one level


def log_indexes(*, tenant_id: str, leaf_ids: Iterable[str]) -> dict[str, int]:
    """The place of each leaf that is sealed; those that still wait are not among them."""
    found: dict[str, int] = {}
    wanted = iter(leaf_ids)
    while some := list(islice(wanted, AT_ONCE)):
        rows = LogLeaf.objects.filter(tenant_id=tenant_id, leaf_id__in=some)
        found.update(rows.values_list("leaf_id", "log_index"))
    return found


def latest_checkpoint(*, tenant_id: str) -> Checkpoint | None:
    """The newest signed statement about a tenant's log; None before the first."""
    rows = Checkpoint.objects.filter(tenant_id=tenant_id)
    return rows.order_by("-tree_size", "-pk").first()


def inclusion_proof(*, tenant_id: str, index: int, size: int) -> list[bytes]:
    """The hashes that lead from leaf `index` to the root over the first `size` leaves."""
    if not 0 <= index < size:
        raise coded_error("log.range_invalid", message=f"Leaf {index} is not among {size} leaves.")
    _require_sealed(tenant_id, size)
    return _roots_over(tenant_id, merkle.inclusion_path(index, size))


def consistency_proof(*, tenant_id: str, first: int, second: int) -> list[bytes]:
    """The hashes that show how the log of `second` leaves goes on from that of `first`."""
    if not 0 < first <= second:
        said = f"A log of {second} leaves can't go on from one of {first}."
        raise coded_error("log.range_invalid", message=said)
    _require_sealed(tenant_id, second)
    return _roots_over(tenant_id, merkle.consistency_path(first, second))


def leaf_at(*, tenant_id: str, index: int) -> bytes:
    """The hash of the leaf at a place that is sealed."""
    found = _read_level(tenant_id, 0, [(index, index + 1)])
    return _present(found, index)


def root_at(*, tenant_id: str, size: int) -> bytes:
    """The root over the first `size` leaves, from what is stored now."""
    if size == 0:
        return merkle.EMPTY_ROOT
    _require_sealed(tenant_id, size)
    return _roots_over(tenant_id, [(0, size)])[0]


def _require_sealed(tenant_id: str, size: int) -> None:
    newest = latest_checkpoint(tenant_id=tenant_id)
    if newest is None or size > newest.tree_size:
        sealed = newest.tree_size if newest else 0
        said = f"The log has {sealed} sealed leaves, not {size}."
        raise coded_error("log.not_sealed", message=said, data={"tree_size": sealed})


# --- hashes from the tables ----------------------------------------------------------------------
def _roots_over(tenant_id: str, subtrees: Sequence[merkle.Subtree]) -> list[bytes]:
    """The root over each range of leaves, with one statement per level of the tree."""
    wanted: defaultdict[int, list[Span]] = defaultdict(list)
    for start, end in subtrees:
        for height, position in merkle.complete_parts(start, end):
            level, span = _stored_under(height, position)
            wanted[level].append(span)
    stored = {level: _read_level(tenant_id, level, spans) for level, spans in wanted.items()}

    def complete(height: int, position: int) -> bytes:
        level, (first, last) = _stored_under(height, position)
        return merkle.root_of(_present(stored[level], place) for place in range(first, last))

    return [merkle.root_over(start, end, complete) for start, end in subtrees]


def _stored_under(height: int, position: int) -> tuple[int, Span]:
    """A complete subtree as the stored hashes it is made of."""
    level, above = divmod(height, merkle.FANOUT_BITS)
    return level, (position << above, (position + 1) << above)


def _read_level(tenant_id: str, level: int, spans: Sequence[Span]) -> Mapping[int, bytes]:
    """The hashes of some places of a level; places side by side are one range."""
    joined = _joined(spans)
    if level == 0:
        leaves = LogLeaf.objects.filter(_within("log_index", joined), tenant_id=tenant_id)
        return {place: bytes(leaf) for place, leaf in leaves.values_list("log_index", "leaf_hash")}
    nodes = LogNode.objects.filter(_within("position", joined), tenant_id=tenant_id, level=level)
    return {place: bytes(root) for place, root in nodes.values_list("position", "root_hash")}


def _joined(spans: Sequence[Span]) -> list[Span]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _within(column: str, spans: Sequence[Span]) -> Q:
    ranges = (Q((f"{column}__gte", first), (f"{column}__lt", last)) for first, last in spans)
    return reduce(or_, ranges)


def _present(hashes: Mapping[int, bytes], place: int) -> bytes:
    try:
        return hashes[place]
    except KeyError:
        raise coded_error("log.damaged") from None
