"""Walking a tenant's log from the first leaf to the last: rows, nodes, roots, signatures (E2).

Blocks of rows are checked by several processes; the tree is grown here, in order. Outside the part
that was asked for, stored nodes stand for their leaves: the signed root over all of them says
whether they may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Max, Min

from audit import merkle
from audit.log import root_at, tree_size_of
from audit.models import Checkpoint, LogHead, LogLeaf, LogNode
from audit.verifying.checkpoints import SignedSizes, Signers
from audit.verifying.findings import Kind, Report
from audit.verifying.processes import Submit
from audit.verifying.rows import BLOCK, as_bytes, check_block
from contextos.core.errors import ContextOSError

GROUP = 1 << merkle.FANOUT_BITS
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Part:
    """Which leaves are to be read in full; all of them by default."""

    first: int = 0
    last: int | None = None

    def within(self, size: int) -> tuple[int, int]:
        """The part as whole groups of leaves, clipped to the log."""
        start = min(self.first, size) // GROUP * GROUP
        end = size if self.last is None else min(size, self.last)
        return start, min(size, -(-end // GROUP) * GROUP)

    def rows(self, size: int) -> int:
        """How many leaves of a log of that size are read."""
        start, end = self.within(size)
        return end - start


@dataclass(slots=True)
class Walk:
    """One tenant's log on its way through the checks."""

    report: Report
    signed: SignedSizes
    tree: merkle.CompactTree


def walk_log(
    tenant_id: str,
    *,
    head: LogHead | None,
    part: Part,
    signers: Signers,
    submit: Submit,
    progress: Progress,
) -> Walk:
    """Check the rows of a part of the log, and the signatures over all of it."""
    size, origin = (head.tree_size, head.origin) if head else (0, "")
    report = Report(tenant_id, tree_size=size)
    signed = SignedSizes(tenant_id, origin, signers, report)
    walk = Walk(report, signed, merkle.CompactTree())
    start, end = part.within(size)
    _by_nodes(walk, 0, start)
    _by_rows(walk, start, end, submit, progress)
    _by_nodes(walk, end, size)
    _check_end(walk, head)
    return walk


# --- growing the tree ----------------------------------------------------------------------------
def _by_rows(walk: Walk, start: int, end: int, submit: Submit, progress: Progress) -> None:
    spans = [(at, min(end, at + BLOCK)) for at in range(start, end, BLOCK)]
    checked = [submit(check_block, walk.report.tenant_id, at, until) for at, until in spans]
    for (at, until), result in zip(spans, checked, strict=True):
        block = result()
        walk.report.findings += block.findings
        walk.report.checked += len(block.leaves)
        walk.report.purged += block.purged
        _grow(walk, at, until, block.leaves)
        progress(until - start, end - start)


def _grow(walk: Walk, start: int, end: int, leaves: Sequence[bytes]) -> None:
    """Add leaves, stopping at each size that somebody signed."""
    left = iter(leaves)
    nodes: list[tuple[int, int, bytes]] = []
    for row in walk.signed.rows(start + 1, end):
        nodes += walk.tree.grow(islice(left, row.tree_size - walk.tree.size))
        if walk.tree.size == row.tree_size:
            walk.signed.check(row, walk.tree.root())
    nodes += walk.tree.grow(left)
    _check_nodes(walk.report, nodes)


def _by_nodes(walk: Walk, start: int, end: int) -> None:
    """Leaves nobody asked to read: by the nodes over them, the last few by their own hashes."""
    whole = end // GROUP * GROUP
    nodes = LogNode.objects.filter(
        tenant_id=walk.report.tenant_id,
        level=1,
        position__gte=start // GROUP,
        position__lt=whole // GROUP,
    )
    for root in nodes.order_by("position").values_list("root_hash", flat=True).iterator():
        walk.tree.append_subtree(as_bytes(root), merkle.FANOUT_BITS)
        _check_at(walk)
    rest = LogLeaf.objects.filter(
        tenant_id=walk.report.tenant_id, log_index__gte=max(start, whole), log_index__lt=end
    )
    for leaf in rest.order_by("log_index").values_list("leaf_hash", flat=True).iterator():
        walk.tree.append(as_bytes(leaf))
        _check_at(walk)


def _check_at(walk: Walk) -> None:
    for row in walk.signed.rows(walk.tree.size, walk.tree.size):
        walk.signed.check(row, walk.tree.root())


def _check_nodes(report: Report, nodes: Sequence[tuple[int, int, bytes]]) -> None:
    """The stored nodes over leaves that were just read."""
    for level in {level for level, _, _ in nodes}:
        wanted = {position: root for each, position, root in nodes if each == level}
        rows = LogNode.objects.filter(
            tenant_id=report.tenant_id, level=level, position__in=list(wanted)
        )
        found = dict(rows.values_list("position", "root_hash"))
        for position, root in wanted.items():
            if as_bytes(found.get(position)) != root:
                said = f"the node {level}/{position} is not the root over its leaves"
                report.add(Kind.NODE, said, position << (merkle.FANOUT_BITS * level))


# --- the end of the log --------------------------------------------------------------------------
def _check_end(walk: Walk, head: LogHead | None) -> None:
    report, size = walk.report, walk.report.tree_size
    if head is not None and as_bytes(head.root_hash) != walk.tree.root():
        report.add(Kind.HEAD, "the head's root is not that over the leaves", walk.signed.trusted)
    if head is not None and as_bytes(head.peaks) != b"".join(walk.tree.peaks):
        report.add(Kind.HEAD, "the head's peaks are not those of the leaves", walk.signed.trusted)
    first, last = _outermost_leaves(report.tenant_id)
    if last >= size:
        _tell_unless_grown(report, Kind.LEAF_EXTRA, "there are leaves beyond the head")
    if first < 0:
        report.add(Kind.LEAF_EXTRA, "there is a leaf before the first", 0)
    if Checkpoint.objects.filter(tenant_id=report.tenant_id, tree_size__gt=size).exists():
        _tell_unless_grown(report, Kind.CHECKPOINT, "there are checkpoints beyond the head")
    _check_strange_nodes(report, size)
    walk.signed.close()
    if size > walk.signed.trusted:
        said = f"no checkpoint that counts covers more than {walk.signed.trusted} of {size} leaves"
        report.add(Kind.SIGNATURE, said, walk.signed.trusted)


def _outermost_leaves(tenant_id: str) -> tuple[int, int]:
    """The ends of the log's index. Asked whether any leaf lies beyond, PostgreSQL expects as many
    as other tenants have, and reads the table from its beginning to find one."""
    leaves = LogLeaf.objects.filter(tenant_id=tenant_id)
    ends = leaves.aggregate(first=Min("log_index"), last=Max("log_index"))
    return (0, -1) if ends["last"] is None else (ends["first"], ends["last"])


def _check_strange_nodes(report: Report, size: int) -> None:
    levels = range(1, 1 + size.bit_length() // merkle.FANOUT_BITS)
    rows = LogNode.objects.filter(tenant_id=report.tenant_id)
    strange = rows.exclude(level__in=levels)
    for level in levels:
        beyond = size >> (merkle.FANOUT_BITS * level)
        strange |= rows.filter(level=level, position__gte=beyond) | rows.filter(
            level=level, position__lt=0
        )
    if strange.exists():
        _tell_unless_grown(report, Kind.NODE, "there are nodes over leaves that are not there")


def _tell_unless_grown(report: Report, kind: Kind, said: str) -> None:
    """The log may have grown since the head was read: then all of it has moved on together."""
    if tree_size_of(report.tenant_id) == report.tree_size:
        report.add(kind, said, report.tree_size)


def stored_root(tenant_id: str, size: int) -> bytes | None:
    """The root over the first leaves by what is stored; None where something is missing."""
    try:
        return root_at(tenant_id=tenant_id, size=size)
    except ContextOSError:
        return None
