"""Cases for endpoints, local commands and protocol versions."""

from typing import Any

from tests.registry.readiness.manifests import DELETE, READ, WRITE, Cases

_LOCAL: dict[str, Any] = {
    "kind": "stdio",
    "command": ["python", "-m", "payments_server"],
    "command_disclosed": True,
    "install_consent": {"required": True, "shown_to": "operator"},
    "sandbox": {"filesystem": ["/srv/payments"], "network": False},
    "timeout_seconds": 20,
}


def _to(url: Any, **more: Any) -> dict[str, Any]:
    return {"/transport/endpoint_ref": url, **{f"/{name}": value for name, value in more.items()}}


def _local(**changes: Any) -> dict[str, Any]:
    merged = {**_LOCAL, **changes}
    return {"/transport": {name: value for name, value in merged.items() if value is not DELETE}}


def _protocol(protocol: str, version: Any, **more: Any) -> dict[str, Any]:
    extra = {f"/{name}": value for name, value in more.items()}
    return {"/protocol": protocol, "/protocol_version": version, **extra}


CASES = {
    "transport.https_required": Cases(
        fires=(
            _to("http://payments.example.com/mcp"),
            _to("HTTP://payments.example.com/mcp"),
            _to(" http://payments.example.com/mcp"),
            _to("http://payments.example.com/mcp", environment="staging"),
            _to("http://payments.example.com/mcp", environment="prod"),
            {"/environment": DELETE, "/transport/endpoint_ref": "http://a.example.com"},
            {"/transport/agent_card_ref": "http://a.example.com/.well-known/agent.json"},
            {"/auth/token_endpoint": "http://login.example.com/token"},
        ),
        silent=(
            {},
            _to("https://payments.example.com/mcp"),
            _to("http://payments.example.com/mcp", environment="development"),
            _to("http://127.0.0.1:9000/mcp", environment="workstation"),
            _to("https://payments.example.com/http://x"),
            _to("https://http.example.com/"),
            _to("endpoint://payments"),
            {"/transport/endpoint_ref": DELETE},
            {"/transport/origin_allowlist": ["http://contextos.example.com"]},
            {"/auth/resource": "http://payments.example.com/mcp"},
        ),
    ),
    "transport.private_endpoint": Cases(
        fires=(
            _to("https://127.0.0.1/mcp"),
            _to("https://10.0.0.5/mcp"),
            _to("https://192.168.1.1:8443/mcp"),
            _to("https://172.16.0.1/mcp"),
            _to("https://169.254.169.254/latest/meta-data"),
            _to("https://100.64.0.1/mcp"),
            _to("https://0/mcp"),
            _to("https://127.1/mcp"),
            _to("https://2130706433/mcp"),
            _to("https://0x7f000001/mcp"),
            _to("https://0177.0.0.1/mcp"),
            _to("https://0x7f.1/mcp"),
            _to("https://010.0.0.1/mcp"),
            _to("https://127.0.0.08/mcp"),
            _to("https://127.0.0.1./mcp"),
            _to("https://[::1]/mcp"),
            _to("https://[::ffff:10.0.0.1]/mcp"),
            _to("https://[fd00::1]/mcp"),
            _to("https://[fe80::1%25eth0]/mcp"),
            _to("https://[64:ff9b::10.0.0.1]/mcp"),
            _to("https://[::ffff:7f00:1]/mcp"),
            _to("https://%31%32%37.0.0.1/mcp"),
            _to("https://１２７.0.0.1/mcp"),
            _to("https://localhost/mcp"),
            _to("https://LOCALHOST:8443/mcp"),
            _to("https://localhost./mcp"),
            _to("https://payments.localhost/mcp"),
            _to("https://metadata.google.internal/computeMetadata"),
            _to("https://payments.internal/mcp"),
            _to("https://printer.local/mcp"),
            _to("https://user@127.0.0.1/mcp"),
            _to("https://payments.example.com@10.0.0.1/"),
            _to("https://payments.example.com\\@10.0.0.1/"),
            _to("https:\\\\127.0.0.1\\mcp"),
            _to("https://127.0.0.1/mcp", environment="staging"),
            {"/auth/jwks_uri": "https://10.1.2.3/keys"},
        ),
        silent=(
            {},
            _to("https://10.example.com/mcp"),
            _to("https://127.0.0.1.example.com/mcp"),
            _to("https://localhost.example.com/mcp"),
            _to("https://internal.example.com/mcp"),
            _to("https://metadata.example.com/mcp"),
            _to("https://192-168-1-1.example.com/mcp"),
            _to("https://1e100.net/mcp"),
            _to("https://notlocalhost/mcp"),
            _to("https://0xdead.example.com/mcp"),
            _to("https://8.8.8.8/mcp"),
            _to("https://08.8.8.8/mcp"),
            _to("https://010.0.0.1.example.com/mcp"),
            _to("https://[2606:4700:4700::1111]/mcp"),
            _to("https://payments.example.com/10.0.0.1"),
            _to("https://payments.example.com/?next=https://127.0.0.1/"),
            _to("https://127.0.0.1@payments.example.com/"),
            _to("https://127.0.0.1/mcp", environment="development"),
            _to("https://localhost/mcp", environment="workstation"),
            _to("unix:///run/payments.sock"),
            {"/transport/origin_allowlist": ["https://localhost"]},
        ),
    ),
    "transport.origin_missing": Cases(
        fires=(
            {"/transport/origin_allowlist": DELETE},
            {"/transport/origin_allowlist": []},
            {"/transport/origin_allowlist": ["*"]},
            {"/transport/origin_allowlist": "https://contextos.example.com"},
        ),
        silent=(
            {},
            {"/transport/origin_allowlist": ["https://a.example.com", "https://b.example.com"]},
            _local(),
            {"/transport": {"kind": "https", "endpoint_ref": "https://a.example.com"}},
            {"/transport": {"kind": "function"}},
            {"/transport": {"kind": "a2a_jsonrpc", "endpoint_ref": "https://a.example.com"}},
        ),
    ),
    "transport.timeout_missing": Cases(
        fires=(
            {"/transport/timeout_seconds": DELETE, f"{READ}/timeout_seconds": DELETE},
            {"/transport/timeout_seconds": 0, f"{WRITE}/timeout_seconds": DELETE},
            {"/transport/timeout_seconds": "20", f"{WRITE}/timeout_seconds": DELETE},
            {"/transport": "streamable_http", f"{READ}/timeout_seconds": DELETE},
        ),
        silent=(
            {},
            {"/transport/timeout_seconds": DELETE},
            {f"{READ}/timeout_seconds": DELETE, f"{WRITE}/timeout_seconds": DELETE},
            {"/transport/timeout_seconds": 0.5},
            {"/transport": "streamable_http"},
        ),
    ),
    "stdio.command_not_disclosed": Cases(
        fires=(
            _local(command=DELETE),
            _local(command=[]),
            _local(command_disclosed=False),
            _local(command_disclosed=DELETE),
            _local(command_disclosed="true"),
            _local(command=[""]),
            _local(kind="mcpb", command=DELETE),
            {"/transport": "stdio"},
        ),
        silent=(
            {},
            _local(),
            _local(kind="mcpb"),
            _local(command=["server"]),
            {"/transport/command_disclosed": False},
            {"/transport": {"kind": "function"}},
        ),
    ),
    "stdio.consent_missing": Cases(
        fires=(
            _local(install_consent=DELETE),
            _local(install_consent={}),
            _local(install_consent={"required": False}),
            _local(kind="mcpb", install_consent=True),
        ),
        silent=(
            {},
            _local(),
            _local(kind="mcpb"),
            _local(install_consent={"required": True}),
            {"/transport": {"kind": "function"}},
        ),
    ),
    "stdio.sandbox_missing": Cases(
        fires=(
            _local(sandbox=DELETE),
            _local(sandbox={}),
            _local(sandbox={"network": False}),
            _local(sandbox={"filesystem": []}),
            _local(sandbox="strict"),
        ),
        silent=(
            {},
            _local(),
            _local(sandbox={"filesystem": [], "network": False}),
            _local(sandbox={"filesystem": ["/srv"], "network": "none"}),
            {"/transport": {"kind": "https", "endpoint_ref": "https://a.example.com"}},
        ),
    ),
    "protocol_version.unknown": Cases(
        fires=(
            _protocol("mcp", "2025-11-26"),
            _protocol("mcp", "latest"),
            _protocol("mcp", "2025-11"),
            _protocol("mcp", "2025-11-25 "),
            _protocol("openapi", "2.0"),
            _protocol("openapi", "3.2.0"),
            _protocol("a2a", "0.2"),
            _protocol("function", "1"),
            _protocol("custom", "v1.0"),
            _protocol("grpc", "1.0"),
        ),
        silent=(
            {},
            _protocol("mcp", "2026-07-28"),
            _protocol("mcp", "2024-11-05"),
            _protocol("openapi", "3.0.3"),
            _protocol("openapi", "3.1.0"),
            _protocol("a2a", "0.3"),
            _protocol("a2a", "1.0"),
            _protocol("function", "1.0"),
            _protocol("custom", "12.3"),
        ),
    ),
    "protocol_version.older_without_reason": Cases(
        fires=(
            _protocol("mcp", "2025-06-18"),
            _protocol("mcp", "2024-11-05"),
            _protocol("mcp", "2025-03-26", protocol_version_reason=" "),
        ),
        silent=(
            {},
            _protocol("mcp", "2025-06-18", protocol_version_reason="The vendor has not moved."),
            _protocol("mcp", "2026-07-28"),
            _protocol("mcp", "2023-01-01"),
            _protocol("openapi", "3.0.3"),
            _protocol("a2a", "0.3"),
        ),
    ),
    "protocol_version.migration_notes_missing": Cases(
        fires=(
            _protocol("mcp", "2025-06-18", protocol_version_reason="The vendor has not moved."),
            _protocol("mcp", "2024-11-05"),
            _protocol("mcp", "2025-03-26", migration_notes=""),
        ),
        silent=(
            {},
            _protocol("mcp", "2025-06-18", migration_notes="Moves in March."),
            _protocol("mcp", "2026-07-28"),
            _protocol("openapi", "3.0.3"),
            _protocol("function", "1.0"),
            _protocol("a2a", "0.3"),
        ),
    ),
    "server_capabilities.unpinned": Cases(
        fires=(
            {"/server_capabilities": DELETE},
            {"/server_capabilities": {}},
            {"/server_capabilities": None},
        ),
        silent=(
            {},
            {"/server_capabilities": {"tools": {}}},
            {"/server_capabilities": DELETE, "/capabilities/2": "tools"},
            _protocol("openapi", "3.1.0", server_capabilities=DELETE),
            _protocol("function", "1.0", server_capabilities=DELETE),
            _protocol("a2a", "1.0", server_capabilities=DELETE),
        ),
    ),
}
