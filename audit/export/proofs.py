"""Inclusion proofs for many leaves at once: the tree is read in pieces of 256, each once or so."""

from __future__ import annotations

from collections import OrderedDict

from audit import merkle
from audit.models import LogLeaf, LogNode
from contextos.core.errors import coded_error

_WIDTH = 1 << merkle.FANOUT_BITS
_KEPT = 64  # pieces; the path from any leaf to the root needs a handful


class ProofMaker:
    """Proofs under one checkpoint. Ask in the order of the log, so that pieces are met again."""

    def __init__(self, *, tenant_id: str, size: int) -> None:
        self._tenant_id, self._size = tenant_id, size
        self._pieces: OrderedDict[tuple[int, int], list[list[bytes]]] = OrderedDict()
        self._edges: dict[merkle.Subtree, bytes] = {}

    def proof(self, index: int) -> list[bytes]:
        """The hashes that lead from leaf `index` to the root."""
        return [self._root(part) for part in merkle.inclusion_path(index, self._size)]

    def _root(self, part: merkle.Subtree) -> bytes:
        start, end = part
        width = end - start
        if width & (width - 1) == 0:
            return self._complete(width.bit_length() - 1, start >> (width.bit_length() - 1))
        if part not in self._edges:  # only subtrees at the end of the log are not complete
            self._edges[part] = merkle.root_over(start, end, self._complete)
        return self._edges[part]

    def _complete(self, height: int, position: int) -> bytes:
        level, inner = divmod(height, merkle.FANOUT_BITS)
        above = merkle.FANOUT_BITS - inner
        try:
            return self._piece(level, position >> above)[inner][position & ((1 << above) - 1)]
        except IndexError:
            raise coded_error("log.damaged") from None

    def _piece(self, level: int, number: int) -> list[list[bytes]]:
        key = (level, number)
        if key in self._pieces:
            self._pieces.move_to_end(key)
            return self._pieces[key]
        rows = [self._hashes(level, number * _WIDTH)]
        while len(rows[-1]) > 1:
            below = rows[-1]
            pairs = zip(below[::2], below[1::2], strict=False)
            rows.append([merkle.node_hash(left, right) for left, right in pairs])
        self._pieces[key] = rows
        if len(self._pieces) > _KEPT:
            self._pieces.popitem(last=False)
        return rows

    def _hashes(self, level: int, first: int) -> list[bytes]:
        if level == 0:
            end = min(first + _WIDTH, self._size)
            leaves = LogLeaf.objects.filter(
                tenant_id=self._tenant_id, log_index__gte=first, log_index__lt=end
            ).order_by("log_index")
            return _gapless(list(leaves.values_list("log_index", "leaf_hash")), first)
        nodes = LogNode.objects.filter(
            tenant_id=self._tenant_id,
            level=level,
            position__gte=first,
            position__lt=first + _WIDTH,
        ).order_by("position")
        return _gapless(list(nodes.values_list("position", "root_hash")), first)


def _gapless(found: list[tuple[int, bytes | memoryview]], first: int) -> list[bytes]:
    if any(place != first + number for number, (place, _) in enumerate(found)):
        raise coded_error("log.damaged")
    return [bytes(each) for _, each in found]
