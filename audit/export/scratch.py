"""Notes taken while a bundle is written, on the disk: memory stays bounded whatever is exported."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

_AT_ONCE = 500


class Ids:
    """Ids in the order they came, and later the place of each in the log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="ascii")
        self.places = array("q")  # eight bytes a leaf: ten million are 80 MB

    def add(self, leaf_id: str) -> None:
        """One more."""
        self._file.write(f"{leaf_id}\n")

    def batches(self) -> Iterator[list[str]]:
        """All of them, some at a time."""
        self._file.flush()
        with self._path.open(encoding="ascii") as lines:
            some: list[str] = []
            for line in lines:
                some.append(line.rstrip("\n"))
                if len(some) == _AT_ONCE:
                    yield some
                    some = []
            if some:
                yield some

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Distinct:
    """Texts, each once, sorted when they are read back."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE seen (text TEXT PRIMARY KEY) WITHOUT ROWID")
        self._held: set[str] = set()

    def add(self, texts: Iterable[str]) -> None:
        """Some more; what was there already changes nothing."""
        self._held.update(texts)
        if len(self._held) >= _AT_ONCE:
            self._write()

    def batches(self) -> Iterator[list[str]]:
        """All of them, some at a time."""
        self._write()
        rows = self._database.execute("SELECT text FROM seen ORDER BY text")
        while some := rows.fetchmany(_AT_ONCE):
            yield [text for (text,) in some]

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _write(self) -> None:
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR IGNORE INTO seen VALUES (?)", [(text,) for text in self._held]
        )
        self._database.execute("COMMIT")
        self._held.clear()
