"""Messages between gateway and runner: a length, then JSON; bounded on both sides."""

from __future__ import annotations

import json
import math
import os
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_FRAME = 16 * 1024 * 1024
STOP_EVERY_SECONDS = 0.5
_LENGTH = struct.Struct(">I")
_AT_ONCE = 1 << 16
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder()


class FrameTooLarge(Exception):  # noqa: N818  named for what happened
    """The other side sent more than a frame may hold."""


class PeerGone(Exception):  # noqa: N818  named for what happened
    """The other side closed the pipe, or spoke out of turn: nothing it says can be relied on."""


class Stopped(Exception):  # noqa: N818  named for what happened
    """Whoever asked does not want the answer any more."""


class OutOfTime(Exception):  # noqa: N818  named for what happened
    """The answer did not come before the deadline."""


def write_frame(descriptor: int, message: Any) -> None:
    """Send one message whole."""
    body = _ENCODER.encode(message).encode("utf-8")
    if len(body) > MAX_FRAME:
        raise FrameTooLarge
    view = memoryview(_LENGTH.pack(len(body)) + body)
    while view:
        view = view[os.write(descriptor, view) :]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait: until a time.monotonic moment, or until somebody says stop."""

    until: float
    should_stop: Callable[[], bool] | None = None

    def wait(self, descriptor: int) -> None:
        """Return when there is something to read."""
        while True:
            left = self.until - time.monotonic()
            if left <= 0:
                raise OutOfTime
            slice_ = left if self.should_stop is None else min(left, STOP_EVERY_SECONDS)
            if _is_readable(descriptor, within=slice_):
                return
            if self.should_stop is not None and self.should_stop():
                raise Stopped


def _is_readable(descriptor: int, *, within: float) -> bool:
    # Not select(): it knows no descriptor beyond 1023, and a busy web process has more.
    watch = select.poll()
    watch.register(descriptor, select.POLLIN)
    return bool(watch.poll(math.ceil(within * 1000)))


def read_frame(descriptor: int, *, patience: Patience | None = None) -> Any:
    """Receive one message whole, with as few questions to the system as it takes.

    Each side speaks in turn, so that nothing may follow the message: what does was never asked for.
    """
    received = _read_some(descriptor, patience)
    while len(received) < _LENGTH.size:
        received += _read_some(descriptor, patience)
    (length,) = _LENGTH.unpack_from(received)
    if length > MAX_FRAME:
        raise FrameTooLarge
    body = _completed(received[_LENGTH.size :], length, descriptor, patience)
    return _DECODER.decode(body.decode("utf-8"))


def _completed(begun: bytes, length: int, descriptor: int, patience: Patience | None) -> bytes:
    parts, count = [begun], len(begun)
    while count < length:
        parts.append(_read_some(descriptor, patience))
        count += len(parts[-1])
    if count > length:
        raise PeerGone
    return b"".join(parts)


def _read_some(descriptor: int, patience: Patience | None) -> bytes:
    if patience is not None:
        patience.wait(descriptor)
    part = os.read(descriptor, _AT_ONCE)
    if not part:
        raise PeerGone
    return part
