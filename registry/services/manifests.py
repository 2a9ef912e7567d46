"""Drafts: a manifest comes in, is normalised, linted, indexed and kept by its digest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from audit.artefacts import store_artefact
from audit.services import record_event
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.models import User
from contextos.identity.models.tenants import EnvironmentName
from contextos.review.semver import next_version, require_semver
from registry.manifest import load_manifest, normalise
from registry.models import Adapter, AdapterVersion
from registry.selectors import PAYLOAD_TYPE
from registry.services.adapters import adapter_for_draft, require_adapter_id
from registry.services.findings import rewrite_findings
from registry.services.index import capability_count, highest_mode, rewrite_index


@transaction.atomic
def create_draft(
    *,
    tenant_id: str,
    document: bytes | Mapping[str, Any],
    author: User,
    actor: Actor,
    adapter_id: str | None = None,
) -> AdapterVersion:
    """A new draft version; the adapter is made when its id is new to the tenant."""
    require_authority(actor, tenant_id)
    manifest = _normalised(document)
    named = require_adapter_id(manifest.get("adapter_id"))
    if adapter_id is not None and named != adapter_id:
        raise coded_error("manifest.adapter_mismatch")
    environment = _environment(manifest)
    adapter = adapter_for_draft(
        tenant_id=tenant_id, adapter_id=named, manifest=manifest, actor=actor
    )
    number = _settle_version(adapter, manifest)
    manifest = {**manifest, "version": number}
    version = AdapterVersion(
        version_id=new_id("adv"),
        tenant_id=tenant_id,
        adapter=adapter,
        version=number,
        environment=environment,
        author=author,
        editors=[author.user_id],
    )
    _fill(version, manifest)
    _insert(version)
    _write_contents(version, manifest)
    _record(version, "adapter_version.drafted", actor)
    return version


@transaction.atomic
def replace_draft(
    *,
    version_id: str,
    document: bytes | Mapping[str, Any],
    editor: User,
    actor: Actor,
    expected_digest: str | None = None,
) -> AdapterVersion:
    """Write on a draft; everybody who did is kept from approving it.

    `expected_digest` is what the editor had in front of them: somebody else's edit since then is
    not overwritten.
    """
    version = AdapterVersion.objects.select_for_update(of=("self",)).filter(pk=version_id).first()
    if version is None:
        raise coded_error("request.not_found")
    require_authority(actor, version.tenant_id)
    if not version.is_editable:
        raise coded_error("manifest.not_a_draft", data={"state": version.state})
    if expected_digest is not None and expected_digest != version.digest:
        raise coded_error("manifest.changed_meanwhile", data={"current": version.digest})
    manifest = _replacement(version, _normalised(document))
    version.environment = _environment(manifest)
    _fill(version, manifest)
    version.editors = sorted({*version.editors, editor.user_id})
    version.save()
    _write_contents(version, manifest)
    _record(version, "adapter_version.edited", actor)
    return version


def _normalised(document: bytes | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(document, bytes):
        return dict(load_manifest(document).document)
    strict_json.refuse_unstorable(document)  # a form is no JSON parser: before any row is written
    return normalise(document)


def _replacement(version: AdapterVersion, manifest: dict[str, Any]) -> dict[str, Any]:
    if manifest.get("adapter_id") != version.adapter.adapter_id:
        raise coded_error("manifest.adapter_mismatch")
    declared = manifest.get("version")
    if declared is not None and declared != version.version:
        raise coded_error("manifest.version_mismatch", data={"version": version.version})
    return {**manifest, "version": version.version}


def _settle_version(adapter: Adapter, manifest: Mapping[str, Any]) -> str:
    declared = manifest.get("version")
    if declared is None:
        return next_version(adapter.versions.values_list("version", flat=True))
    return require_semver(declared)


def _environment(manifest: Mapping[str, Any]) -> str:
    value = manifest.get("environment")
    if value not in EnvironmentName.values:
        raise coded_error("manifest.environment_unknown", data={"environment": str(value)[:50]})
    return str(value)


def _fill(version: AdapterVersion, manifest: Mapping[str, Any]) -> None:
    version.digest = store_artefact(
        tenant_id=version.tenant_id, media_type=PAYLOAD_TYPE, content=canonicalise(manifest)
    )
    version.protocol = _shown(manifest, "protocol")[:16]
    version.protocol_version = _shown(manifest, "protocol_version")[:32]
    version.highest_mode = highest_mode(manifest)
    version.capability_count = capability_count(manifest)
    version.rollout_notes = _shown(manifest, "rollout_notes")


def _shown(manifest: Mapping[str, Any], member: str) -> str:
    value = manifest.get(member)
    return value if isinstance(value, str) else ""


def _insert(version: AdapterVersion) -> None:
    try:
        with transaction.atomic():
            version.save(force_insert=True)
    except IntegrityError as clash:
        raise coded_error(
            "manifest.version_taken",
            data={"adapter_id": version.adapter.adapter_id, "version": version.version},
        ) from clash


def _write_contents(version: AdapterVersion, manifest: Mapping[str, Any]) -> None:
    rewrite_index(version, manifest)
    rewrite_findings(version, manifest)


def _record(version: AdapterVersion, action: str, actor: Actor) -> None:
    record_event(
        tenant_id=version.tenant_id,
        action=action,
        actor=actor,
        subject_kind="adapter_version",
        subject_id=version.version_id,
        data={
            "adapter_id": version.adapter.adapter_id,
            "version": version.version,
            "environment": version.environment,
            "digest": version.digest,
        },
    )
