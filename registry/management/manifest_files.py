"""Reads files named on the command line, never more of them than a manifest may have."""

from __future__ import annotations

import sys
from pathlib import Path

from django.core.management.base import CommandError

from contextos.core.text import single_line
from registry.manifest import MAX_MANIFEST_BYTES

EXIT_REFUSED = 1
EXIT_UNREADABLE = 2


def read_file(name: str, *, limit: int = MAX_MANIFEST_BYTES) -> bytes:
    """The bytes of a file, or of standard input for `-`; exits 2 where there is none."""
    try:
        if name == "-":
            return sys.stdin.buffer.read(limit + 1)
        with Path(name).open("rb") as stream:
            return stream.read(limit + 1)
    except OSError as fault:
        reason = fault.strerror or "it can't be read"
        message = f"{single_line(name)} can't be read: {reason}."
        raise CommandError(message, returncode=EXIT_UNREADABLE) from None
