"""Credentials for tests, made through the service, and asks that want one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from contextos.core.clock import utcnow
from contextos.core.ids import new_id
from contextos.identity.models import Tenant
from gateway.consents.services import grant_consent
from gateway.credentials.endpoint import Granted
from gateway.credentials.services import add_credential
from gateway.credentials.terms import Ask
from gateway.models import AdapterCredential, Consent, ConsentRequest
from registry.models import Adapter
from tests.factories import SYSTEM, make_tenant
from tests.gateway.credentials.oauth_server import CLIENT_ID, AuthorizationServer

ADAPTER = "adp_ledger"
RESOURCE = "https://ledger.example.com/mcp"
AUDIENCE = "ledger-mcp"


def make_credential(tenant: Tenant, kind: str = "bearer", **changes: Any) -> AdapterCredential:
    """In the tenant's development environment, where loopback may be called."""
    Adapter.objects.get_or_create(
        tenant=tenant, adapter_id=changes.get("adapter_id", ADAPTER), defaults={"name": "Ledger"}
    )
    values: dict[str, Any] = {
        "tenant_id": tenant.pk,
        "environment": "development",
        "adapter_id": ADAPTER,
        "kind": kind,
        "name": "Ledger",
        "secret": "s3cret",
        "actor": SYSTEM,
    }
    return add_credential(**{**values, **changes})


def oauth(server: AuthorizationServer, **changes: Any) -> dict[str, Any]:
    """Where that server is asked, as a credential says it."""
    return {
        "issuer": server.issuer,
        "token_endpoint": f"{server.address}/token",
        "authorization_endpoint": f"{server.address}/authorize",
        "revocation_endpoint": f"{server.address}/revoke",
        "client_id": CLIENT_ID,
        **changes,
    }


def make_ask(tenant: Tenant | None = None, **changes: Any) -> Ask:
    """A read on behalf of a person, unless told otherwise."""
    values: dict[str, Any] = {
        "tenant_id": str((tenant or make_tenant()).pk),
        "environment": "development",
        "adapter_id": ADAPTER,
        "capability_id": "ledger.read",
        "auth_type": "oauth2",
        "scopes": ("read",),
        "resource": RESOURCE,
        "audiences": (AUDIENCE,),
        "agent_id": "agent_refunds",
        "user_id": "user_ada",
        "deadline_at": utcnow() + timedelta(seconds=5),
    }
    return Ask(**{**values, **changes})


def make_consent(tenant: Tenant, marker: str) -> Consent:
    """A consent to a credential of that name, as a trip would have brought it."""
    row = make_credential(
        tenant,
        "authorization_code",
        name=marker,
        issuer="https://id.example.com",
        token_endpoint="https://id.example.com/token",
        authorization_endpoint="https://id.example.com/authorize",
        client_id="contextos",
    )
    asked = ConsentRequest(
        request_id=new_id("csr"), tenant=tenant, credential=row, user_id="user_ada", scopes=["read"]
    )
    granted = Granted(access_token="at_x", scopes=("read",), lifetime=300, asked_at=0)
    return grant_consent(request=asked, granted=granted, actor=SYSTEM)
