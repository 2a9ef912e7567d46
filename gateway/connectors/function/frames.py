"""Messages between gateway and runner: a length, then JSON; bounded on both sides."""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any

MAX_FRAME = 16 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class FrameTooLarge(Exception):  # noqa: N818  named for what happened
    """The other side sent more than a frame may hold."""


class PeerGone(Exception):  # noqa: N818  named for what happened
    """The other side closed the pipe."""


class OutOfTime(Exception):  # noqa: N818  named for what happened
    """The answer did not come before the deadline."""


def write_frame(descriptor: int, message: Any) -> None:
    """Send one message whole."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("utf-8")
    if len(body) > MAX_FRAME:
        raise FrameTooLarge
    view = memoryview(_LENGTH.pack(len(body)) + body)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int, *, until: float | None = None) -> Any:
    """Receive one message whole; `until` is a time.monotonic moment."""
    (length,) = _LENGTH.unpack(_read_exactly(descriptor, _LENGTH.size, until))
    if length > MAX_FRAME:
        raise FrameTooLarge
    return json.JSONDecoder().decode(_read_exactly(descriptor, length, until).decode("utf-8"))


def _read_exactly(descriptor: int, count: int, until: float | None) -> bytes:
    parts: list[bytes] = []
    while count:
        _wait(descriptor, until)
        part = os.read(descriptor, min(count, 1 << 16))
        if not part:
            raise PeerGone
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _wait(descriptor: int, until: float | None) -> None:
    if until is None:
        return
    left = until - time.monotonic()
    if left <= 0 or not select.select([descriptor], [], [], left)[0]:
        raise OutOfTime
