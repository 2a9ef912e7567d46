"""A WSGI application whose answer waits until the test lets it go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Say that the request is being worked on, wait for the word to go on, answer."""
    folder = Path(os.environ["SLOW_APP_FOLDER"])
    (folder / "began").write_bytes(b"1")  # a pipe: blocks until the test reads it
    (folder / "go").read_bytes()  # a pipe: blocks until the test writes it
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["REMOTE_ADDR"].encode()]
