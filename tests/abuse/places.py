"""Everywhere a secret could have come to lie: tables, broker, files, telemetry."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pypdf
import redis
from django.db import connection
from psycopg import sql


def database_dump() -> Iterator[tuple[str, bytes]]:
    """Every table as PostgreSQL writes it into a dump."""
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        names = [name for (name,) in cursor.fetchall()]
        raw = cursor.cursor
        for name in names:
            statement = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(name))
            with raw.copy(statement) as rows:
                yield f"table {name}", b"".join(bytes(row) for row in rows)


def redis_dump(url: str) -> Iterator[tuple[str, bytes]]:
    """Every key with its value."""
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter():
            yield f"redis {key!r}", key + b" " + (client.dump(key) or b"")


@contextmanager
def overheard(url: str) -> Iterator[list[bytes]]:
    """What is said to the broker meanwhile, task bodies and all."""
    said: list[bytes] = []
    client = redis.Redis.from_url(url, socket_timeout=None)  # silence is no failure
    monitor: Any = client.monitor()  # type: ignore[no-untyped-call]
    with monitor:
        listener = threading.Thread(target=_listen, args=[monitor, said], daemon=True)
        listener.start()
        yield said
        client.set("abuse:end", "1")
        listener.join(timeout=10)
    client.delete("abuse:end")
    client.close()


def _listen(monitor: Any, said: list[bytes]) -> None:
    for command in monitor.listen():
        text = str(command.get("command", ""))
        said.append(text.encode())
        if "abuse:end" in text:
            return


def files_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, and what is packed inside of it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            yield f"file {path.name}", content
            yield from _unpacked(path.name, content)


def _unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    if content.startswith(b"%PDF-"):
        yield from _pages(name, content)
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        for member in packed.namelist():
            yield f"file {name}/{member}", packed.read(member)


def _pages(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Pages are packed and may be written in letters of their own: what a reader would see."""
    read = pypdf.PdfReader(io.BytesIO(content))
    yield f"file {name}/about", str(read.metadata).encode()
    for number, page in enumerate(read.pages, start=1):
        seen = "".join(page.extract_text().split())  # a cell may have broken it into lines
        yield f"file {name}/page {number}", seen.encode()
