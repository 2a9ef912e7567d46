"""A report that asks one question, and whose process dies once it has the answer."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from gateway.functions import Call, InputRequired, Working, function


def _book(line: str) -> None:
    path = Path(tempfile.gettempdir()) / f"contextos-test-answers-{os.getppid()}.book"
    with path.open("a") as book:
        book.write(line + "\n")


def _poll(args: dict[str, Any], call: Call) -> Any:
    if call.answer is None:
        return InputRequired({"step": 1}, "Which year?", {"type": "object"})
    _book("answered")
    os._exit(1)


@function("examples.reports:build", poll=_poll)
def build(args: dict[str, Any], call: Call) -> Any:
    return Working({"step": 0}, poll_after_ms=20)
