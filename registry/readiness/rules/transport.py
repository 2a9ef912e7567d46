"""How the adapter is reached: https, a public address, a time limit, known origins."""

import re
from collections.abc import Iterator

from registry.manifest import Manifest
from registry.manifest.access import positive_number, text, texts
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.hosts import doubtful_host, is_http_url, private_host, scheme_of
from registry.readiness.words import show

_NAMED = re.compile(r"endpoint://[a-z0-9][a-z0-9._-]{0,99}")
_HTTP_KINDS = frozenset({"streamable_http", "https", "a2a_jsonrpc", "a2a_http_json"})
_CUSTOM_NOTES = ("framing", "auth", "replay", "cancellation", "observation")
_PINS = {"openapi": "spec_digest", "a2a": "agent_card_digest"}
# Dialled by the gateway itself when it discovers or refreshes credentials.
_AUTH_ENDPOINTS = (
    "issuer",
    "metadata_url",
    "discovery_url",
    "authorization_endpoint",
    "authorization_url",
    "token_endpoint",
    "token_url",
    "jwks_uri",
)


def _endpoints(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Every http(s) address the gateway would dial, with its pointer."""
    for name in ("endpoint_ref", "agent_card_ref"):
        yield f"/transport/{name}", text(manifest.transport, name)
    for name in _AUTH_ENDPOINTS:
        yield f"/auth/{name}", text(manifest.auth, name)


@rule(
    "transport.https_required",
    Severity.BLOCK,
    title="An endpoint is not https",
    why="Credentials and results would cross the network in the clear.",
    fix="Serve the endpoint over https, or declare the environment development or workstation.",
)
def transport_https_required(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.is_relaxed:
        return
    for pointer, url in _endpoints(manifest):
        if scheme_of(url) == "http":
            yield Complaint(pointer, f"{show(url)} is reached over plain http.")


@rule(
    "transport.private_endpoint",
    Severity.BLOCK,
    title="An endpoint is a private address",
    why="A gateway that can be pointed at private addresses can be made to read what lies behind "
    "the firewall, cloud credentials included.",
    fix="Use the service's public name, or declare the environment development or workstation.",
)
def transport_private_endpoint(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.is_relaxed:
        return
    for pointer, url in _endpoints(manifest):
        reason = private_host(url)
        if reason:
            yield Complaint(pointer, f"{show(url)} leads to {reason}.")


@rule(
    "transport.internal_name",
    Severity.WARN,
    title="An endpoint's name is likely to be known only inside a network",
    why="Such a name usually resolves to a private address, which the gateway refuses to dial.",
    fix="Use the service's full public name.",
)
def transport_internal_name(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.is_relaxed:
        return
    for pointer, url in _endpoints(manifest):
        name = doubtful_host(url)
        if name and not private_host(url):
            yield Complaint(pointer, f"The host {show(name)} is no public name.")


@rule(
    "transport.endpoint_missing",
    Severity.WARN,
    title="A remote adapter has no usable endpoint",
    why="The gateway can't call what it can't address.",
    fix="Put the adapter's https address into `endpoint_ref`, or `endpoint://name`, a name whose "
    "address an operator enters per environment.",
)
def transport_endpoint_missing(manifest: Manifest) -> Iterator[Complaint]:
    url = text(manifest.transport, "endpoint_ref")
    if manifest.transport_kind not in _HTTP_KINDS or _NAMED.fullmatch(url):
        return
    if not is_http_url(url):
        said = f"{show(url)} is no http(s) address" if url else "No endpoint is declared"
        yield Complaint("/transport/endpoint_ref", f"{said}.")


@rule(
    "transport.origin_missing",
    Severity.WARN,
    title="No origins are listed for a Streamable HTTP endpoint",
    why="A server that takes requests from any origin can be driven by a web page through someone "
    "else's browser.",
    fix="List the origins that may call in `origin_allowlist`.",
)
def transport_origin_missing(manifest: Manifest) -> Iterator[Complaint]:
    if manifest.transport_kind != "streamable_http":
        return
    origins = texts(manifest.transport, "origin_allowlist")
    if not origins:
        yield Complaint("/transport/origin_allowlist", "No allowed origins are listed.")
    elif any("*" in origin for origin in origins):
        yield Complaint("/transport/origin_allowlist", "The list of origins allows any origin.")


@rule(
    "transport.timeout_missing",
    Severity.WARN,
    title="No timeout is declared",
    why="A call without a limit holds a place in the queue for as long as the adapter likes.",
    fix="Declare `timeout_seconds` on the transport or on every capability.",
)
def transport_timeout_missing(manifest: Manifest) -> Iterator[Complaint]:
    if positive_number(manifest.transport, "timeout_seconds"):
        return
    each = [positive_number(item.raw, "timeout_seconds") for item in manifest.capabilities]
    if not each or not all(each):
        message = "Neither the transport nor every capability declares a timeout."
        yield Complaint("/transport/timeout_seconds", message)


@rule(
    "transport.custom_undocumented",
    Severity.WARN,
    title="A custom transport is not documented",
    why="Nobody can review how messages are framed, authenticated, replayed, cancelled and seen.",
    fix=f"Describe {', '.join(_CUSTOM_NOTES)} on the transport.",
)
def transport_custom_undocumented(manifest: Manifest) -> Iterator[Complaint]:
    missing = [name for name in _CUSTOM_NOTES if not manifest.transport.get(name)]
    if manifest.transport_kind == "custom" and missing:
        yield Complaint("/transport", f"The custom transport does not say {', '.join(missing)}.")


@rule(
    "transport.contract_unpinned",
    Severity.WARN,
    title="The contract of the other side is not pinned",
    why="Without a digest of the description that was reviewed, a later change goes unnoticed.",
    fix="Pin the digest: `spec_digest` for OpenAPI, `agent_card_digest` for A2A.",
)
def transport_contract_unpinned(manifest: Manifest) -> Iterator[Complaint]:
    name = _PINS.get(manifest.protocol)
    if name and not text(manifest.transport, name):
        yield Complaint(f"/transport/{name}", f"`{name}` is missing.")


@rule(
    "transport.session_binding_missing",
    Severity.INFO,
    title="Nothing is said about binding sessions",
    why="A session id is not a credential; the server should bind it to the caller's identity.",
    fix="Say in `session_binding` what sessions are bound to.",
)
def transport_session_binding_missing(manifest: Manifest) -> Iterator[Complaint]:
    declared = manifest.transport.get("session_binding")
    if manifest.transport_kind == "streamable_http" and not declared:
        message = "The manifest does not say what sessions are bound to."
        yield Complaint("/transport/session_binding", message)
