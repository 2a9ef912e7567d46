"""The servers that the demo's adapters call: where they stand, and what they are shown."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.db import transaction

from contextos.core.events import Actor
from contextos.demo.registry import ENVIRONMENT, PAYMENTS_ENDPOINT
from contextos.identity.actors import person
from contextos.identity.models import User
from gateway.credentials.services import add_credential
from gateway.endpoints import SCHEME, add_endpoint, move_endpoint
from gateway.models import AdapterCredential, CredentialKind, Endpoint

PAYMENTS_ADAPTER = "adp_payments_mcp"


def payments_token_file() -> Path:
    """The secret of the payments server, made once; it belongs to that server and to nobody else.

    In production a server's owner hands its credential to an operator, who enters it.
    """
    path: Path = settings.DATA_DIR / "payments-token"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32), encoding="ascii")
    return path


@transaction.atomic
def build_upstreams(people: Mapping[str, User], *, tenant_id: str, payments_url: str) -> None:
    """Say where the payments server listens this time, and give the adapter its credential."""
    admin = person(people["admin"], tenant_id)
    _stands_at(payments_url, tenant_id, admin)
    known = AdapterCredential.objects.filter(tenant_id=tenant_id, adapter_id=PAYMENTS_ADAPTER)
    if not known.exists():
        add_credential(
            tenant_id=tenant_id,
            environment=ENVIRONMENT,
            adapter_id=PAYMENTS_ADAPTER,
            kind=CredentialKind.BEARER.value,
            name="Payments server",
            secret=payments_token_file().read_text(encoding="ascii"),
            actor=admin,
        )


def _stands_at(url: str, tenant_id: str, actor: Actor) -> None:
    name = PAYMENTS_ENDPOINT.removeprefix(SCHEME)
    known = Endpoint.objects.filter(tenant_id=tenant_id, environment=ENVIRONMENT, name=name).first()
    if known is None:
        add_endpoint(tenant_id=tenant_id, environment=ENVIRONMENT, name=name, url=url, actor=actor)
    else:
        move_endpoint(endpoint_pk=known.pk, url=url, actor=actor)
