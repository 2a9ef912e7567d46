"""Reading the log: where a leaf stands, what was signed, and the proofs between them (E2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice

from django.db import connection

from audit import merkle
from audit.models import Checkpoint, LogHead, LogLeaf
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


def tree_size_of(tenant_id: str) -> int:
    """How many leaves a tenant's log has now, as far as its head says."""
    return LogHead.objects.filter(pk=tenant_id).values_list("tree_size", flat=True).first() or 0


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
    sizes = Checkpoint.objects.filter(tenant_id=tenant_id).order_by("-tree_size")
    sealed = sizes.values_list("tree_size", flat=True).first() or 0
    if size > sealed:
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
        return merkle.complete_root([_present(stored[level], at) for at in range(first, last)])

    return [merkle.root_over(start, end, complete) for start, end in subtrees]


def _stored_under(height: int, position: int) -> tuple[int, Span]:
    """A complete subtree as the stored hashes it is made of."""
    level, above = divmod(height, merkle.FANOUT_BITS)
    return level, (position << above, (position + 1) << above)


_LEAVES = "SELECT log_index, leaf_hash FROM audit_logleaf WHERE tenant_id = %s AND ({within})"
_NODES = (
    "SELECT position, root_hash FROM audit_lognode WHERE tenant_id = %s AND level = %s "
    "AND ({within})"
)


def _read_level(tenant_id: str, level: int, spans: Sequence[Span]) -> Mapping[int, bytes]:
    """The hashes of some places of a level; places side by side are one range."""
    joined = _joined(spans)
    column, statement, of = (
        ("position", _NODES, [tenant_id, level]) if level else ("log_index", _LEAVES, [tenant_id])
    )
    within = " OR ".join([f"({column} >= %s AND {column} < %s)"] * len(joined))
    with connection.cursor() as cursor:
        cursor.execute(statement.format(within=within), [*of, *chain.from_iterable(joined)])
        return {place: bytes(stored) for place, stored in cursor.fetchall()}


def _joined(spans: Sequence[Span]) -> list[Span]:
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


def _present(hashes: Mapping[int, bytes], place: int) -> bytes:
    try:
        return hashes[place]
    except KeyError:
        raise coded_error("log.damaged") from None
