"""Functions for the hardening tests."""

from __future__ import annotations

import time
from typing import Any

from gateway.functions import Call, function


@function("hardening:slow_echo")
def slow_echo(args: dict[str, Any], call: Call) -> Any:
    time.sleep(float(args.get("seconds", 0)))
    return {"said": args["said"]}
