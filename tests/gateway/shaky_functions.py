"""Functions that fail, hang or answer as a file says, so that a test can change its mind."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from gateway.functions import Call, ToolError, function


def mood_of(pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"contextos-test-mood-{pid}"


MOOD = mood_of(os.getpid())  # as the test sees it; the runner asks for its parent's


@function("examples.shaky:read")
def read(args: dict[str, Any], call: Call) -> Any:
    mood = mood_of(os.getppid())
    how = mood.read_text() if mood.exists() else "well"
    if how == "broken":
        raise RuntimeError("the upstream can't be reached")
    if how == "refusing":
        raise ToolError("NOT_TODAY", "The tool says no.")
    if how.startswith("slow "):
        time.sleep(float(how.removeprefix("slow ")))
    return {"item": args["item"], "from": "shaky", "traceparent": call.traceparent}


@function("examples.steady:read")
def read_copy(args: dict[str, Any], call: Call) -> Any:
    return {"item": args["item"], "from": "steady"}


@function("examples.shaky:write")
def write(args: dict[str, Any], call: Call) -> Any:
    return read(args, call)
