"""Discovery: a live MCP server becomes a draft version of its adapter, and nothing more (B5)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction

from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from contextos.core.strict_json import storable
from contextos.identity.actors import require_authority
from contextos.identity.models import User
from gateway.connectors.base import Credential
from gateway.connectors.mcp.connector import DEFAULT_PIN, session_key
from gateway.connectors.mcp.discovery import discover as read_server
from gateway.connectors.mcp.sessions import Order
from gateway.credentials.error_codes import REFUSED
from gateway.credentials.terms import ask_by
from gateway.endpoints import EndpointRef
from gateway.outside import let_in
from registry.importers.mcp import Discovered, Drafted, draft_from
from registry.models import Adapter, AdapterVersion
from registry.selectors import active_version, manifest_of
from registry.services.manifests import create_draft

PATIENCE_SECONDS = 30.0
DEFAULT_ENVIRONMENT = "production"
DISCOVERER = "contextos.discovery"  # who acts, to servers that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The draft, and what a reader wants to know first."""

    version: AdapterVersion
    server: Mapping[str, Any]
    drafted: Drafted

    def summary(self) -> dict[str, Any]:
        """For answers and records."""
        return {
            "server": dict(self.server),
            "tools": len(self.drafted.manifest["capabilities"]),
            "added": list(self.drafted.added),
            "changed": list(self.drafted.changed),
            "gone": list(self.drafted.gone),
        }


def discover(
    *,
    tenant_id: str,
    adapter_id: str,
    author: User,
    actor: Actor,
    environment: str | None = None,
    endpoint_ref: str | None = None,
) -> Discovery:
    """Ask the adapter's server what it offers and pin it into a new draft.

    An adapter without a version needs the endpoint; one that has some is read from its newest.
    """
    require_authority(actor, tenant_id)
    adapter = Adapter.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).first()
    if adapter is None:
        raise coded_error("request.not_found", message=f"There is no adapter {adapter_id[:100]}.")
    base = _base(adapter, environment, endpoint_ref)
    found = _read(adapter, base)
    drafted = draft_from(found, base=base)
    return _kept(drafted, found, tenant_id=tenant_id, author=author, actor=actor)


@transaction.atomic
def _kept(
    drafted: Drafted, found: Discovered, *, tenant_id: str, author: User, actor: Actor
) -> Discovery:
    version = create_draft(
        tenant_id=tenant_id, document=drafted.manifest, author=author, actor=actor
    )
    said = {name: str(found.server.get(name, "")) for name in ("name", "version")}
    server = {name: storable(text)[:200] for name, text in said.items()}
    discovery = Discovery(version=version, server=server, drafted=drafted)
    summary = discovery.summary()
    record_event(
        tenant_id=tenant_id,
        action="gateway.discovered",
        actor=actor,
        subject_kind="adapter_version",
        subject_id=version.version_id,
        data={**summary, "added": len(summary["added"]), "changed": len(summary["changed"])},
    )
    return discovery


def _base(adapter: Adapter, environment: str | None, endpoint_ref: str | None) -> dict[str, Any]:
    versions = adapter.versions.order_by("-created_at", "-version_id")
    newest = versions.filter(environment=environment).first() if environment else versions.first()
    if newest is None:
        base = _first_manifest(adapter, environment or DEFAULT_ENVIRONMENT)
    else:
        base = dict(manifest_of(newest))
        if base.get("protocol") != "mcp":
            raise coded_error("discovery.not_mcp")
    if endpoint_ref:
        base["transport"] = {**base["transport"], "endpoint_ref": endpoint_ref}
    if not base["transport"].get("endpoint_ref"):
        raise coded_error("discovery.endpoint_needed")
    return base


def _first_manifest(adapter: Adapter, environment: str) -> dict[str, Any]:
    """What there is to say before anybody wrote a manifest; lint asks for the rest."""
    return {
        "adapter_id": adapter.adapter_id,
        "name": adapter.name,
        "owner_role": adapter.owner_role,
        "environment": environment,
        "protocol": "mcp",
        "protocol_version": DEFAULT_PIN,
        "transport": {"kind": "streamable_http", "timeout_seconds": 20},
        "auth": {"type": "none", "reason": "Not decided yet: written by discovery."},
    }


def _read(adapter: Adapter, base: Mapping[str, Any]) -> Discovered:
    """In nobody's name; a server that wants to know who calls learns it on reviewed terms alone."""
    environment = str(base.get("environment") or DEFAULT_ENVIRONMENT)
    ref = EndpointRef(
        tenant_id=adapter.tenant_id, environment=environment, ref=base["transport"]["endpoint_ref"]
    )
    ask = ask_by(
        _reviewed(adapter, environment, ref.ref),
        tenant_id=adapter.tenant_id,
        environment=environment,
        adapter_id=adapter.adapter_id,
        capability_id="",
        agent_id=DISCOVERER,
        user_id="",
        deadline_at=utcnow() + timedelta(seconds=PATIENCE_SECONDS),
    )
    try:
        return let_in(ask, lambda shown: read_server(_order(ref, base, shown)))
    except ContextOSError as fault:
        if ask is None and fault.code == REFUSED:
            raise coded_error("discovery.credential_withheld") from fault
        raise


def _reviewed(adapter: Adapter, environment: str, endpoint_ref: str) -> Mapping[str, Any]:
    """The published manifest, if its calls go to this very endpoint; else nothing.

    An author says where a draft points, alone. The adapter's credential goes only where a second
    person has seen it go, with the scopes that they saw.
    """
    published = active_version(adapter.pk, environment)
    manifest = manifest_of(published) if published else {}
    there = (manifest.get("transport") or {}).get("endpoint_ref")
    return manifest if there == endpoint_ref else {}


def _order(ref: EndpointRef, base: Mapping[str, Any], credential: Credential | None) -> Order:
    return Order(
        key=session_key(ref, str(base.get("protocol_version") or DEFAULT_PIN), credential),
        until=time.monotonic() + PATIENCE_SECONDS,
        headers=dict(credential.headers) if credential else {},
    )
