"""Adapters: the names under which versions of a manifest are kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from registry.models import Adapter

# One path segment of the API's addresses, and nothing that a page or a log could misread.
_ADAPTER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NAME_LIMIT = 200
_ROLE_LIMIT = 100


@transaction.atomic
def register_adapter(
    *, tenant_id: str, adapter_id: str, name: str, actor: Actor, owner_role: str = ""
) -> Adapter:
    """A new adapter without a version yet."""
    require_authority(actor, tenant_id)
    require_adapter_id(adapter_id)
    adapter = _create(tenant_id, adapter_id, name, owner_role)
    if adapter is None:
        raise coded_error("adapter.exists", data={"adapter_id": adapter_id})
    _record(adapter, actor)
    return adapter


def adapter_for_draft(
    *, tenant_id: str, adapter_id: str, manifest: Mapping[str, Any], actor: Actor
) -> Adapter:
    """The adapter, made when its id is new, locked so that drafts get their numbers in turn."""
    require_adapter_id(adapter_id)
    name, owner_role = _shown(manifest, "name"), _shown(manifest, "owner_role")
    if not Adapter.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).exists():
        created = _create(tenant_id, adapter_id, name or adapter_id, owner_role)
        if created is not None:
            _record(created, actor)
    rows = Adapter.objects.select_for_update(of=("self",))
    return rows.get(tenant_id=tenant_id, adapter_id=adapter_id)


def take_names_from(adapter: Adapter, manifest: Mapping[str, Any]) -> None:
    """Show the adapter under the name and owner that its published manifest gives."""
    adapter.name = (_shown(manifest, "name") or adapter.adapter_id)[:_NAME_LIMIT]
    adapter.owner_role = _shown(manifest, "owner_role")[:_ROLE_LIMIT]
    adapter.save(update_fields=["name", "owner_role"])


def require_adapter_id(text: object) -> str:
    """The text, if it can name an adapter."""
    if not isinstance(text, str) or not text:
        raise coded_error("manifest.adapter_id_missing")
    if not _ADAPTER_ID.fullmatch(text):
        raise coded_error("manifest.adapter_id_malformed")
    return text


def _create(tenant_id: str, adapter_id: str, name: str, owner_role: str) -> Adapter | None:
    try:
        with transaction.atomic():
            return Adapter.objects.create(
                tenant_id=tenant_id,
                adapter_id=adapter_id,
                name=name[:_NAME_LIMIT],
                owner_role=owner_role[:_ROLE_LIMIT],
            )
    except IntegrityError:
        if not Adapter.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).exists():
            raise
        return None


def _shown(manifest: Mapping[str, Any], member: str) -> str:
    value = manifest.get(member)
    return value if isinstance(value, str) else ""


def _record(adapter: Adapter, actor: Actor) -> None:
    record_event(
        tenant_id=adapter.tenant_id,
        action="adapter.registered",
        actor=actor,
        subject_kind="adapter",
        subject_id=adapter.adapter_id,
        data={"name": adapter.name, "owner_role": adapter.owner_role},
    )
