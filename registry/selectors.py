"""Questions the registry answers; nothing here changes a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Prefetch, Q, QuerySet

from audit.artefacts import read_artefact
from contextos.core import strict_json
from contextos.core.errors import coded_error
from contextos.core.signing import KeyPurpose
from contextos.review.signatures import open_signed, type_for_tenant
from contextos.review.signed_documents import OpenedDocument, opened_by
from contextos.review.states import SIGNED, VersionState
from registry.manifest import MAX_MANIFEST_BYTES
from registry.models import (
    Adapter,
    AdapterVersion,
    Capability,
    KillSwitch,
    Quarantine,
    RegistryGeneration,
)
from registry.models.kill_switches import KillScope
from registry.risk_diff import RiskDiff, diff_manifests

PAYLOAD_TYPE = "application/vnd.contextos.manifest+json"


def adapters_of(tenant_id: str) -> QuerySet[Adapter]:
    """A tenant's adapters."""
    return Adapter.objects.filter(tenant_id=tenant_id)


def versions_of(tenant_id: str) -> QuerySet[AdapterVersion]:
    """A tenant's adapter versions, with their adapter."""
    return AdapterVersion.objects.filter(tenant_id=tenant_id).select_related("adapter", "author")


def with_active_versions(adapters: QuerySet[Adapter]) -> QuerySet[Adapter]:
    """The adapters, each with what it has published as `active_versions`; two statements."""
    published = AdapterVersion.objects.filter(state=VersionState.PUBLISHED).order_by("environment")
    return adapters.prefetch_related(
        Prefetch("versions", queryset=published, to_attr="active_versions")
    )


def with_finding_counts(versions: QuerySet[AdapterVersion]) -> QuerySet[AdapterVersion]:
    """The versions, each with how many findings of each severity it has."""
    counts = {
        f"{severity}_count": Count("findings", filter=Q(findings__severity=severity))
        for severity in ("block", "warn", "info")
    }
    return versions.annotate(**counts)


def find_version(tenant_id: str, adapter_id: str, name: str) -> AdapterVersion | None:
    """One version of an adapter, by its number or by its id."""
    rows = versions_of(tenant_id).filter(adapter__adapter_id=adapter_id)
    return rows.filter(Q(version=name) | Q(version_id=name)).first()


def comparison_base(version: AdapterVersion) -> AdapterVersion | None:
    """What a version is compared with unless told otherwise.

    That is what is published in its environment; the published version itself is compared with
    the one that its reviewers saw it beside.
    """
    current = active_version(version.adapter_id, version.environment)
    return version.compared_with if current is not None and current.pk == version.pk else current


def active_version(adapter_pk: int, environment: str) -> AdapterVersion | None:
    """The version that new runs are pinned to."""
    return AdapterVersion.objects.filter(
        adapter_id=adapter_pk, environment=environment, state=VersionState.PUBLISHED
    ).first()


def catalogue(tenant_id: str) -> QuerySet[Capability]:
    """Everything published, for people who browse."""
    return Capability.objects.filter(tenant_id=tenant_id, is_active=True)


def thrown_switches(tenant_id: str) -> QuerySet[KillSwitch]:
    """The kill switches that stop calls now."""
    return KillSwitch.objects.filter(tenant_id=tenant_id, lifted_at__isnull=True)


@dataclass(frozen=True, slots=True)
class Stops:
    """The kill switches thrown in one tenant, by what they stop."""

    tenant_id: str
    reasons: Mapping[tuple[str, str], str]

    def reason(
        self, *, adapter_id: str, version_id: str | None = None, capability_id: str | None = None
    ) -> str | None:
        """Why nothing of it may run; None = no switch stops it. The widest scope speaks first."""
        targets = (
            (KillScope.TENANT.value, self.tenant_id),
            (KillScope.ADAPTER.value, adapter_id),
            (KillScope.VERSION.value, version_id),
            (KillScope.CAPABILITY.value, capability_id),
        )
        found = (self.reasons.get((scope, name)) for scope, name in targets if name is not None)
        return next((reason for reason in found if reason is not None), None)


def stops_of(tenant_id: str) -> Stops:
    """What is stopped in a tenant now, in one statement."""
    rows = thrown_switches(tenant_id).values_list("scope", "target_id", "reason")
    return Stops(tenant_id, {(scope, target): reason for scope, target, reason in rows})


def quarantines_of(tenant_id: str) -> Mapping[tuple[str, str], str]:
    """(version id, capability id) -> why it rests, in one statement."""
    rows = Quarantine.objects.filter(tenant_id=tenant_id, released_at__isnull=True)
    found = rows.values_list("version_id", "capability_id", "reason")
    return {(version_id, capability_id): reason for version_id, capability_id, reason in found}


def generation_of(tenant_id: str) -> int:
    """The number that caches of this tenant are filled at."""
    rows = RegistryGeneration.objects.filter(tenant_id=tenant_id)
    return rows.values_list("number", flat=True).first() or 0


def manifest_of(version: AdapterVersion) -> dict[str, Any]:
    """The normalised manifest; of a signed version only after its signature was checked."""
    if version.state in SIGNED:
        return signed_manifest(version)
    return _decoded(read_artefact(tenant_id=version.tenant_id, digest=version.digest))


def open_version(version: AdapterVersion) -> OpenedDocument:
    """For pages and answers, which show a tampered version as tampered instead of failing."""
    return opened_by(manifest_of, version)


def signed_manifest(version: AdapterVersion) -> dict[str, Any]:
    """The manifest inside the DSSE envelope, or a refusal: nothing unsigned is ever used."""
    document = open_signed(
        version.envelope,
        digest=version.digest,
        payload_type=type_for_tenant(PAYLOAD_TYPE, version.tenant_id),
        purpose=KeyPurpose.MANIFESTS,
    )
    manifest = _decoded(document)
    _require_own(version, manifest)
    return manifest


def _require_own(version: AdapterVersion, manifest: dict[str, Any]) -> None:
    """A good signature over another version's manifest is no signature of this one."""
    named = tuple(manifest.get(name) for name in ("adapter_id", "version", "environment"))
    if named != (version.adapter.adapter_id, version.version, version.environment):
        raise coded_error(
            "signature.invalid", message="The signed manifest is that of another version."
        )


def risk_of(version: AdapterVersion, against: AdapterVersion | None) -> RiskDiff:
    """What got riskier compared with another version; None = everything is new."""
    old = manifest_of(against) if against is not None else None
    return diff_manifests(old, manifest_of(version))


def _decoded(document: bytes) -> dict[str, Any]:
    return strict_json.loads_object(document, max_bytes=MAX_MANIFEST_BYTES)


def is_published(version_id: str) -> bool:
    """Whether a version is the one new runs get, and not only draining."""
    rows = AdapterVersion.objects.filter(pk=version_id, state=VersionState.PUBLISHED)
    return rows.exists()
