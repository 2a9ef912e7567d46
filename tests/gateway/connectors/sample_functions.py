"""Functions that behave, misbehave, hang and lie; served by a real runner in the tests."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from gateway.functions import Call, Costs, InputRequired, ToolError, Working, function


@function("echo")
def echo(args: dict[str, Any], call: Call) -> Any:
    return {"args": args, "key": call.idempotency_key, "attempt": call.attempt}


@function("environment")
def environment(args: dict[str, Any], call: Call) -> Any:
    return {"names": sorted(os.environ), "django": "django" in sys.modules, "pid": os.getpid()}


@function("refuse")
def refuse(args: dict[str, Any], call: Call) -> Any:
    raise ToolError("TXN_NOT_SETTLED", "The transaction is not settled.", remediation="Wait.")


@function("explode")
def explode(args: dict[str, Any], call: Call) -> Any:
    raise RuntimeError("hunter2 is in this message")


@function("hang")
def hang(args: dict[str, Any], call: Call) -> Any:
    threading.Event().wait(3600)


@function("die")
def die(args: dict[str, Any], call: Call) -> Any:
    os._exit(3)


@function("garbage")
def garbage(args: dict[str, Any], call: Call) -> Any:
    return {"when": object()}


@function("not_a_number")
def not_a_number(args: dict[str, Any], call: Call) -> Any:
    return {"amount": float("nan")}


@function("flood")
def flood(args: dict[str, Any], call: Call) -> Any:
    return "x" * (100 * 1024 * 1024)


@function("chatty")
def chatty(args: dict[str, Any], call: Call) -> Any:
    sys.stdout.write("this must not reach the protocol\n")
    sys.stdout.flush()
    return {"ok": True}


@function("priced")
def priced(args: dict[str, Any], call: Call) -> Any:
    return Costs({"ok": True}, cost_cents=7)


@function("paid_to_work")
def paid_to_work(args: dict[str, Any], call: Call) -> Any:
    return Costs({"ok": True}, cost_cents=args["cents"])


@function("nosy")
def nosy(args: dict[str, Any], call: Call) -> Any:
    return {"read": os.read(0, 10).decode()}


@function("odd_handle")
def odd_handle(args: dict[str, Any], call: Call) -> Any:
    return Working({"at": "\x00"})


@function("odd_question")
def odd_question(args: dict[str, Any], call: Call) -> Any:
    return InputRequired({}, "Which?", {"type": "riddle"})


def _poll(args: dict[str, Any], call: Call) -> Any:
    step = int((call.task or {})["step"])
    if call.answer is not None:
        return {"answered": dict(call.answer)}
    if step == 1:
        return Working({"step": 2}, poll_after_ms=5)
    return InputRequired({"step": 3}, "Which account?", {"type": "object"})


@function("long", poll=_poll)
def long(args: dict[str, Any], call: Call) -> Any:
    return Working({"step": 1}, poll_after_ms=5)
