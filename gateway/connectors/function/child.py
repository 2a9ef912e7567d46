"""The runner's main loop: imports the author's modules, serves one call at a time over a pipe."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
import traceback
from typing import Any

from gateway.connectors.function.frames import FrameTooLarge, PeerGone, read_frame, write_frame
from gateway.functions import (
    Call,
    Changed,
    Costs,
    InputRequired,
    Registration,
    ToolError,
    Working,
    registrations,
)

LOOK_EVERY_SECONDS = 0.5


def main(modules: list[str]) -> int:
    """Serve until the pipe closes. Whatever a function prints goes to stderr, never to the pipe."""
    us, requests, replies = os.getpid(), os.dup(0), os.dup(1)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nor can it read what is meant for the loop
    for module in modules:
        importlib.import_module(module)
    write_frame(replies, {"functions": sorted(registrations.by_name)})
    while True:
        try:
            request = read_frame(requests)
        except PeerGone:
            return 0
        reply = serve(request)
        if os.getpid() != us:
            os._exit(0)  # a function forked and both halves came back: one of them answers
        _answer(replies, reply)


def _leave_with(parent: int) -> None:
    """What nobody waits for any more must not go on: its call is given to somebody else."""
    while os.getppid() == parent:
        time.sleep(LOOK_EVERY_SECONDS)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _answer(replies: int, reply: dict[str, Any]) -> None:
    try:
        write_frame(replies, reply)
    except FrameTooLarge:
        write_frame(replies, {"fault": "too_large"})
    except (TypeError, ValueError) as fault:
        write_frame(replies, {"fault": "not_json", "message": str(fault)[:200]})


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """One request to one reply; a function that raises is an answer too."""
    registration = registrations.by_name.get(request["function"])
    if registration is None:
        return {"fault": "unknown_function"}
    callee = _callee(registration, request["action"])
    if callee is None:
        return {"fault": "unsupported_action"}
    try:
        return _reply(callee(request["args"], Call(**request["call"])))
    except ToolError as refusal:
        return {"error": _spelled(refusal)}
    except Exception as fault:  # noqa: BLE001  the author's code may raise anything
        _print_place(fault)
        return {"fault": "raised", "message": type(fault).__name__}


def _print_place(fault: Exception) -> None:
    """Where it went wrong; the exception's own words may quote arguments, and logs keep none."""
    traceback.print_tb(fault.__traceback__)
    sys.stderr.write(f"{type(fault).__name__}\n")


def _callee(registration: Registration, action: str) -> Any:
    return {
        "invoke": registration.callee,
        "poll": registration.poll,
        "cancel": registration.cancel,
        "input": registration.poll,
    }[action]


def _spelled(refusal: ToolError) -> dict[str, Any]:
    return {
        "code": refusal.code,
        "message": refusal.message,
        "retryable": refusal.retryable,
        "remediation": refusal.remediation,
    }


def _reply(result: Any) -> dict[str, Any]:
    if isinstance(result, Working):
        return {"working": dict(result.task), "poll_after_ms": result.poll_after_ms}
    if isinstance(result, InputRequired):
        wanted = {"message": result.message, "schema": dict(result.schema)}
        return {"input_required": dict(result.task), "request": wanted}
    if isinstance(result, Costs):
        return {"output": result.output, "cost_cents": result.cost_cents}
    if isinstance(result, Changed):
        changes = [dict(change) for change in result.mutations]
        return {"output": result.output, "cost_cents": result.cost_cents, "mutations": changes}
    return {"output": result}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
