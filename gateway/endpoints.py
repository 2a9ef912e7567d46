"""Addresses of adapters: what a manifest's `endpoint_ref` leads to, here and now.

A URL in the manifest was reviewed and is dialled as it is; nobody can turn it elsewhere. A name,
`endpoint://payments`, was reviewed as a name: an operator says per tenant and environment where it
stands, which is recorded. Either way the network door judges the host again when it dials.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.env import PRODUCTION_LIKE
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock
from contextos.net.rules import EgressRule
from contextos.net.signed_posts import check_address
from contextos.net.targets import parse_target
from gateway.models import Endpoint
from gateway.models.endpoints import NAME_PATTERN

SCHEME = "endpoint://"
_URL_SCHEMES = ("https://", "http://")


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointRef:
    """A reference in the place it is used from."""

    tenant_id: str
    environment: str
    ref: str


def address_of(ref: EndpointRef) -> str:
    """The URL to dial."""
    if ref.ref.startswith(_URL_SCHEMES):
        return ref.ref
    if not ref.ref.startswith(SCHEME):
        raise _missing(ref, "The manifest's endpoint_ref is neither a URL nor endpoint://name.")
    found = Endpoint.objects.filter(
        tenant_id=ref.tenant_id,
        environment=ref.environment,
        name=ref.ref.removeprefix(SCHEME),
    ).values_list("url", flat=True)
    url = found.first()
    if url is None:
        raise _missing(ref, f"{ref.ref[:120]} has no address in {ref.environment}.")
    return url


def egress_environment(environment: str) -> str:
    """A relaxed environment opens nothing on an installation that is not relaxed itself."""
    return settings.CONTEXTOS_ENV if settings.CONTEXTOS_ENV in PRODUCTION_LIKE else environment


def egress_rule(url: str, environment: str) -> EgressRule:
    """This host and port and nothing else."""
    return _rule(url, egress_environment(environment))


@lru_cache(maxsize=1024)
def _rule(url: str, environment: str) -> EgressRule:
    """It follows from these two alone; what the host leads to is judged at every dial."""
    return EgressRule.for_environment(environment, [parse_target(url).authority])


@transaction.atomic
def add_endpoint(
    *, tenant_id: str, environment: str, name: str, url: str, actor: Actor
) -> Endpoint:
    """Say where a named endpoint stands."""
    require_authority(actor, tenant_id)
    _check(environment, name, url)
    row = Endpoint(tenant_id=tenant_id, environment=environment, name=name, url=url)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise coded_error("endpoint.exists") from None
    _record(row, "created", actor, {})
    return row


@transaction.atomic
def move_endpoint(*, endpoint_pk: int, url: str, actor: Actor) -> Endpoint:
    """Let it lead elsewhere; the next call goes there."""
    row = lock(Endpoint, endpoint_pk)
    require_authority(actor, row.tenant_id)
    _check(row.environment, row.name, url)
    if url != row.url:
        before = _shown(row)
        row.url = url
        row.save(update_fields=["url", "changed_at"])
        _record(row, "changed", actor, {"before": before})
    return row


@transaction.atomic
def remove_endpoint(*, endpoint_pk: int, actor: Actor) -> None:
    """Let it lead nowhere: calls to it are refused."""
    row = lock(Endpoint, endpoint_pk)
    require_authority(actor, row.tenant_id)
    _record(row, "deleted", actor, {})
    row.delete()


def _check(environment: str, name: str, url: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        message = "A name has small letters, digits, dots, dashes and underscores."
        raise coded_error("endpoint.invalid", message=message)
    check_address(url, environment=egress_environment(environment))


def _record(row: Endpoint, what: str, actor: Actor, more: dict[str, Any]) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action=f"gateway.endpoint_{what}",
        actor=actor,
        subject_kind="endpoint",
        subject_id=row.name,
        data={"environment": row.environment, "address": _shown(row), **more},
    )


def _shown(row: Endpoint) -> str:
    """The origin alone: a path may hold a key."""
    return parse_target(row.url).origin


def _missing(ref: EndpointRef, message: str) -> Exception:
    data = {"environment": ref.environment, "request_sent": False}
    return coded_error("mcp.endpoint_missing", message=message, data=data)
