"""A real MCP server of the SDK on 127.0.0.1, in a thread, with tools that tell what they saw."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel


class Echo(BaseModel):
    """What `echo` answers."""

    echo: str


class SdkServer:
    """The server, and what happened to it."""

    def __init__(
        self,
        *,
        json_response: bool = False,
        port: int = 0,
        guard: Callable[[str], dict[str, Any]] = lambda origin: {},
    ) -> None:
        self.cancelled: list[str] = []
        self.seen: list[dict[str, Any]] = []
        self.finished: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as uvicorn's own has
        self.port = int(self._socket.getsockname()[1])
        app = self._tools(guard(self.origin)).streamable_http_app(json_response=json_response)
        config = uvicorn.Config(app, log_level="critical", lifespan="on")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def start(self) -> None:
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    def _tools(self, guarded: dict[str, Any]) -> MCPServer:
        server = MCPServer("orders-probe", version="9.9.9", log_level="CRITICAL", **guarded)

        @server.tool()
        async def echo(text: str) -> Echo:
            return Echo(echo=text)

        @server.tool()
        async def slow(seconds: float, mark: str = "slow") -> Echo:
            try:
                await anyio.sleep(seconds)
            except anyio.get_cancelled_exc_class():
                self.cancelled.append(mark)
                raise
            self.finished.append(mark)
            return Echo(echo=mark)

        @server.tool()
        async def look(ctx: Context) -> Echo:
            request: Any = ctx.request_context.request
            meta: Any = ctx.request_context.meta or {}
            self.seen.append({"headers": dict(request.headers), "meta": dict(meta)})
            return Echo(echo="seen")

        @server.tool()
        async def said_no(how: str) -> CallToolResult:
            error = {"code": "NO_STOCK", "message": "None left.", "remediation": "Wait."}
            if how == "structured":
                return CallToolResult(content=[], structured_content=error, is_error=True)
            text = "NO_STOCK: None left." if how == "coded" else "just no"
            return CallToolResult(content=[TextContent(text=text)], is_error=True)

        @server.tool()
        async def raises() -> str:
            raise RuntimeError("NO_STOCK: None left.")

        @server.tool()
        async def as_text(text: str) -> CallToolResult:
            return CallToolResult(content=[TextContent(text=text)])

        _more_than_tools(server)
        return server


def _more_than_tools(server: MCPServer) -> None:
    @server.resource("orders://policy", mime_type="text/plain")
    def policy() -> str:
        return "thirty days"

    @server.prompt()
    def greet(who: str) -> str:
        return f"Hello {who}"


@contextlib.contextmanager
def sdk_server(**how: Any) -> Iterator[SdkServer]:
    server = SdkServer(**how)
    server.start()
    try:
        yield server
    finally:
        server.stop()


if __name__ == "__main__":  # for the bench: in a process of its own, on the port that it is given
    alone = SdkServer(json_response=True, port=int(sys.argv[1]))
    alone.start()
    threading.Event().wait()
