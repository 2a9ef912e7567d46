"""Messages over the runner's pipe arrive whole, however the system cuts them up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gateway.connectors.function.frames import (
    MAX_FRAME,
    FrameTooLarge,
    Patience,
    PeerGone,
    read_frame,
    write_frame,
)

MESSAGE = {"text": "größer", "list": list(range(50))}


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def bytes_of(message: Any) -> bytes:
    with pipe() as (ours, theirs):
        write_frame(theirs, message)
        return os.read(ours, 1 << 16)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_message_that_comes_in_pieces_is_put_together(size: int) -> None:
    said = bytes_of(MESSAGE)
    with pipe() as (ours, theirs):

        def speak() -> None:
            for start in range(0, len(said), size):
                os.write(theirs, said[start : start + size])

        speaker = threading.Thread(target=speak)
        speaker.start()
        assert read_frame(ours, patience=Patience(time.monotonic() + 10)) == MESSAGE
        speaker.join()


def test_a_message_larger_than_a_pipe_holds_arrives() -> None:
    large = {"text": "x" * 1_000_000}
    with pipe() as (ours, theirs):
        speaker = threading.Thread(target=write_frame, args=[theirs, large])
        speaker.start()
        assert read_frame(ours) == large
        speaker.join()


def test_whoever_says_more_than_was_asked_is_not_believed() -> None:
    with pipe() as (ours, theirs):
        os.write(theirs, bytes_of(MESSAGE) + bytes_of({"output": "for the next caller"}))
        with pytest.raises(PeerGone):
            read_frame(ours)


def test_an_announced_size_beyond_the_bound_is_refused_unread() -> None:
    with pipe() as (ours, theirs):
        os.write(theirs, (MAX_FRAME + 1).to_bytes(4, "big"))
        with pytest.raises(FrameTooLarge):
            read_frame(ours)
