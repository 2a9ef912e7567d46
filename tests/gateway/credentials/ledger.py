"""A far side on loopback that lets in only whom the authorization server knows, and its adapter."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contextos.core import strict_json
from contextos.core.errors import coded_error
from contextos.net import EgressRule, open_client, parse_target
from gateway.connectors.base import Invocation, Reply, ReplyKind
from gateway.credentials.tls import tls_context_of
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import ADAPTER, AUDIENCE, RESOURCE
from tests.registry.documents import Document, pack, permission
from tests.registry.manifests import Manifest, orders

READ_IN, READ_OUT = "schema://ledger.read.input.v1", "schema://ledger.read.output.v1"


@dataclass
class Ledger:
    """Keeps every header and body it ever got."""

    knows: AuthorizationServer
    seen: list[dict[str, str]] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    address: str = ""
    entries: list[str] = field(default_factory=list)

    def admits(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization", "").removeprefix("Bearer ") in self.knows.tokens


@contextmanager
def keeping(ledger: Ledger) -> Iterator[Ledger]:
    """On a free port of 127.0.0.1 until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            ledger.seen.append(headers)
            ledger.bodies.append(body)
            admitted = ledger.admits(headers)
            if admitted:
                ledger.entries.append(body)
            content = json.dumps({"entry": "e1"} if admitted else {}).encode()
            self.send_response(200 if admitted else 401)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Quiet."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    ledger.address = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield ledger
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


class LedgerConnector:
    """The far side's protocol: one POST a call. It shows what it was given and nothing else."""

    def __init__(self, address: str) -> None:
        self.address = address

    def invoke(self, call: Invocation) -> Reply:
        headers = dict(call.credential.headers) if call.credential else {}
        rule = EgressRule.for_environment("development", [parse_target(self.address).authority])
        client = open_client(rule, tls=tls_context_of(call.credential))
        answer = client.request(
            "POST",
            f"{self.address}/{call.binding}",
            headers={**headers, "X-ContextOS-Metadata": call.metadata_token},
            json=dict(call.args),
        )
        if answer.status == 401:
            raise coded_error("credential.refused", data={"status": 401})
        return Reply(kind=ReplyKind.OUTPUT, output=strict_json.loads_object(answer.content))


def ledger_manifest(**changes: Any) -> Manifest:
    """`ledger.read` with the initial scope, `ledger.write` with one more."""
    read = {
        **orders()["capabilities"][0],
        "capability_id": "ledger.read",
        "mcp_tool_name": "read",
        "description": "Read one entry of the ledger.",
        "input_schema_ref": READ_IN,
        "output_schema_ref": READ_OUT,
        "evidence_keys": ["entry"],
    }
    write = {
        **read,
        "capability_id": "ledger.write",
        "mcp_tool_name": "write",
        "description": "Write one entry into the ledger.",
        "capability_class": "act",
        "approval_mode": "local_write",
        "idempotency": {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": True},
    }
    manifest = orders(
        adapter_id=ADAPTER,
        name="Ledger",
        protocol="mcp",
        protocol_version="2025-11-25",
        environment="development",
        transport={
            "kind": "streamable_http",
            "endpoint_ref": "http://127.0.0.1:9/mcp",
            "origin_allowlist": ["http://127.0.0.1:9"],
            "timeout_seconds": 5,
            "session_binding": "agent",
        },
        server_capabilities={"tools": {"listChanged": False}},
        auth={
            "type": "oauth2",
            "resource": RESOURCE,
            "token_audience": AUDIENCE,
            "initial_scopes": ["read"],
            "step_up_scopes": {"ledger.write": ["write"]},
            "allow_token_passthrough": False,
        },
        capabilities=[read, write],
    )
    manifest["schemas"] = {
        READ_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"entry": {"type": "string", "maxLength": 40}},
            "required": ["entry"],
        },
        READ_OUT: {
            "type": "object",
            "properties": {"entry": {"type": "string"}},
            "required": ["entry"],
        },
    }
    return {**manifest, **changes}


def ledger_pack() -> Document:
    """Permits both in development."""
    return pack(
        pack_id="support_ledger",
        tooling_layer={
            "permissions": [
                permission(ADAPTER, operation, environments=["development"])
                for operation in ("read", "write")
            ]
        },
    )
