"""Servers that shake hands like any other and then do what no server should."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from contextos.core import strict_json
from tests.net.upstreams import Call, Handler, http_answer

JSON = "Content-Type: application/json\r\n"
OnCall = Callable[[Call, dict[str, Any]], None]


def rpc(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return http_answer(json.dumps(body).encode(), headers=JSON)


def greeting(version: str = "2025-11-25", name: str = "hostile") -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": "0.0.1"},
    }


def speaking(
    on_call: OnCall,
    *,
    version: str = "2025-11-25",
    methods: str = "tools/call",
    name: str = "hostile",
) -> Handler:
    """A handler that is polite until a tool is called."""

    def handle(call: Call) -> None:
        while request := call.read_request():
            head, _, body = request.partition(b"\r\n\r\n")
            message: dict[str, Any] = dict(strict_json.loads_object(body)) if body else {}
            method = message.get("method", "")
            if method == "initialize":
                session = f"{JSON}Mcp-Session-Id: session-{call.upstream.connections}\r\n"
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": greeting(version, name)}
                call.send(http_answer(json.dumps(answer).encode(), headers=session))
            elif method in methods.split():
                on_call(call, message)
            elif head.startswith(b"GET"):
                call.send(http_answer(b"", status="405 Method Not Allowed"))
            else:
                call.send(http_answer(b"", status="202 Accepted"))

    return handle


def methods_seen(requests: list[bytes]) -> list[str]:
    """What was asked, in order; a goodbye is `DELETE`."""
    seen = []
    for request in requests:
        head, _, body = request.partition(b"\r\n\r\n")
        seen.append(
            str(strict_json.loads_object(body)["method"])
            if body
            else head.split(b" ", 1)[0].decode()
        )
    return seen
