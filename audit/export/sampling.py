"""Seeded random samples that anybody can draw again from the same records.

Each record's lot is SHA-256(seed, newline, leaf hash); the smallest lots are the sample. It needs
no order and no random generator, one pass over the heads, and memory for the sample alone.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from audit.export.selection import Block, Selection
from contextos.core.errors import coded_error

MOST = 10_000
_SEED = re.compile(r"[0-9A-Za-z._-]{1,64}")
_HEADS = 20_000


def read_sample(given: Any) -> dict[str, Any] | None:
    """Size and seed; a seed that nobody gave is drawn and kept."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) - {"size", "seed"}:
        raise coded_error("export.sample_invalid")
    size, seed = given.get("size"), given.get("seed")
    if seed is None or seed == "":
        seed = secrets.token_hex(8)
    if type(size) is not int or not 1 <= size <= MOST:
        raise coded_error("export.sample_invalid")
    if not isinstance(seed, str) or not _SEED.fullmatch(seed):
        raise coded_error("export.sample_invalid")
    return {"size": size, "seed": seed}


def lot(seed: str, leaf_hash: bytes) -> bytes:
    """What a record is drawn by."""
    return hashlib.sha256(seed.encode() + b"\n" + leaf_hash).digest()


class Sampled:
    """A sample of a selection."""

    def __init__(self, selection: Selection, *, size: int, seed: str) -> None:
        self._selection, self._size, self._seed = selection, size, seed
        self._chosen: list[str] = []

    def draw(self, pulse: Callable[[], object]) -> int:
        """Look at every head once; how many there were. `pulse` is called after each batch."""
        heap: list[tuple[int, str]] = []  # the largest lot first, so that it can be driven out
        population = 0
        for heads in self._heads():
            for record_id, leaf in heads:
                number = -int.from_bytes(lot(self._seed, leaf), "big")
                if len(heap) < self._size:
                    heapq.heappush(heap, (number, record_id))
                elif number > heap[0][0]:
                    heapq.heapreplace(heap, (number, record_id))
            population += len(heads)
            pulse()
        self._chosen = sorted(record_id for _, record_id in heap)
        return population

    def blocks(self) -> Generator[Block, None, None]:
        """The chosen records in the order of their ids."""
        for start in range(0, len(self._chosen), 100):
            yield from self._selection.these(self._chosen[start : start + 100])

    def _heads(self) -> Iterator[list[tuple[str, bytes]]]:
        cursor = ""
        while True:
            rows = self._selection.rows().filter(record_id__gt=cursor)
            heads = rows.values_list("record_id", "leaf_hash")[:_HEADS]
            found = [(record_id, bytes(leaf)) for record_id, leaf in heads]
            if not found:
                return
            yield found
            cursor = found[-1][0]
