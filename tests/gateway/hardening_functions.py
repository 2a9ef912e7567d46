"""Functions for the hardening tests: slow ones, and ones that leave something behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gateway.functions import Call, function


@function("hardening:slow_echo")
def slow_echo(args: dict[str, Any], call: Call) -> Any:
    time.sleep(float(args.get("seconds", 0)))
    return {"said": args["said"]}


@function("hardening:leave_a_helper")
def leave_a_helper(args: dict[str, Any], call: Call) -> Any:
    """Starts a process that would go on with the work, says its id, and hangs."""
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(args["book"]).write_text(str(helper.pid))
    time.sleep(60)


@function("hardening:fork")
def fork(args: dict[str, Any], call: Call) -> Any:
    """Both halves of a careless fork come back from the call."""
    os.fork()
    return {"said": args["said"]}


@function("hardening:quote")
def quote(args: dict[str, Any], call: Call) -> Any:
    raise ValueError(f"can't use {args['said']}")
