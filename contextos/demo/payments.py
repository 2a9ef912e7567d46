"""The demo's payments server: a real MCP server in a process of its own, on 127.0.0.1 alone.

`python -m contextos.demo.payments --port N --ledger FILE --token-file FILE`. It knows nothing of
the gateway: it checks its own token, its own schemas and its own keys, as any server should.
"""

from __future__ import annotations

import argparse
import hmac
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
import jsonschema_rs
import mcp_types as types
import orjson
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contextos.demo.ledger import Ledger, PaymentRefused
from contextos.env import PROJECT_ROOT

MANIFEST = PROJECT_ROOT / "examples" / "manifests" / "payments.json"
NAME, VERSION = "acme-payments", "1.4.0"
LOOKUP, REFUND = "payments_lookup_transaction", "payments_issue_refund"
_CALL_ID = "contextos/tool_call_id"
_MUTATIONS = "contextos/mutations"
_SCOPES = ["payments.read", "payments.refund.write"]


class PaymentsServer:
    """Two tools over one ledger, with the schemas that the manifest pins."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._tools = {tool.name: tool for tool in _tools()}
        self._judges = {
            name: jsonschema_rs.validator_for(tool.input_schema)
            for name, tool in self._tools.items()
        }

    def app(self, *, port: int, token: str) -> Starlette:
        """The ASGI application."""
        server: Server[Any] = Server(
            NAME, version=VERSION, on_list_tools=self._list, on_call_tool=self._call
        )
        address = AnyHttpUrl(f"http://127.0.0.1:{port}/mcp")
        return server.streamable_http_app(
            json_response=True,
            auth=AuthSettings(
                issuer_url=address, resource_server_url=address, validate_token_resource=True
            ),
            token_verifier=_OneToken(token, resource=str(address)),
            custom_starlette_routes=[Route("/readyz", _ready)],
        )

    async def _list(
        self, ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(self._tools.values()))

    async def _call(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        args = dict(params.arguments or {})
        judge = self._judges.get(params.name)
        if judge is None:
            return _no("UNKNOWN_TOOL", f"There is no tool {params.name[:100]}.")
        if not judge.is_valid(args):
            return _no("BAD_ARGUMENTS", "The arguments do not fit the tool's schema.")
        meta: Mapping[str, Any] = ctx.meta or {}
        call_id = str(meta.get(_CALL_ID, ""))[:100]
        try:
            done = await anyio.to_thread.run_sync(partial(self._do, params.name, args, call_id))
        except PaymentRefused as refused:
            return _no(refused.code, refused.message)
        text = types.TextContent(text=orjson.dumps(done).decode())
        changed = {_MUTATIONS: _changes(done)} if params.name == REFUND else None
        return types.CallToolResult(content=[text], structured_content=done, _meta=changed)

    def _do(self, tool: str, args: dict[str, Any], call_id: str) -> dict[str, Any]:
        if tool == LOOKUP:
            return self._ledger.lookup(args["transaction_id"])
        return self._ledger.refund(args, tool_call_id=call_id)


class _OneToken:
    """Who knows the secret may use both tools."""

    def __init__(self, token: str, *, resource: str) -> None:
        self._token = token
        self._resource = resource

    async def verify_token(self, token: str) -> AccessToken | None:
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return None
        return AccessToken(
            token=token, client_id="contextos", scopes=_SCOPES, resource=self._resource
        )


async def _ready(request: Request) -> Response:
    return Response("ready", media_type="text/plain")


def _no(code: str, message: str) -> types.CallToolResult:
    said = types.TextContent(text=f"{code}: {message}")
    error = {"code": code, "message": message}
    return types.CallToolResult(content=[said], structured_content=error, is_error=True)


def _changes(refund: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a refund changed, and how it could be taken back."""
    token = str(refund["reversal_token"])
    return [{"kind": "refund", "ref": str(refund["refund_id"]), "reversal_token": token}]


def _tools() -> list[types.Tool]:
    """The tools as the manifest describes them, so that the demo starts without drift."""
    manifest: dict[str, Any] = orjson.loads(MANIFEST.read_bytes())
    return [
        types.Tool(
            name=item["mcp_tool_name"],
            description=item["description"],
            input_schema=manifest["schemas"][item["input_schema_ref"]],
            output_schema=manifest["schemas"][item["output_schema_ref"]],
        )
        for item in manifest["capabilities"]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    given = parser.parse_args(arguments)
    token = given.token_file.read_text(encoding="ascii").strip()
    app = PaymentsServer(Ledger(given.ledger)).app(port=given.port, token=token)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=given.port,
        log_level="warning",
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main()
