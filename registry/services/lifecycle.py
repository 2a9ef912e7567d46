"""The life of an adapter version: the shared review machinery with the registry's own questions."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from audit.artefacts import read_artefact
from contextos.core.canonical import digest
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.modes import ApprovalMode
from contextos.core.signing import KeyPurpose
from contextos.review import services as review
from contextos.review.kinds import Obstacle, ReviewKind, Tick
from contextos.review.states import VersionState
from registry.models import AdapterVersion, Capability, Review, Signature
from registry.risk_diff import Verdict
from registry.roles import REVIEWERS
from registry.selectors import PAYLOAD_TYPE, active_version, manifest_of, risk_of
from registry.services.adapters import take_names_from
from registry.services.findings import rewrite_findings
from registry.services.reviewed import RegistryLifecycle

REVIEWERS_FOR_DESTRUCTIVE = 2
MOST_TOLD = 50  # rules named in an event


# --- the registry's answers to the machinery ---------------------------------------------------
def _document(version: AdapterVersion) -> bytes:
    return read_artefact(tenant_id=version.tenant_id, digest=version.digest)


def _reviewers_needed(version: AdapterVersion) -> int:
    if version.highest_mode == ApprovalMode.DESTRUCTIVE.value:
        return REVIEWERS_FOR_DESTRUCTIVE
    if settings.REGISTRY_FAST_PATH_FOR_NARROWING and _needs_no_eyes(version):
        return 0
    return 1


def _needs_no_eyes(version: AdapterVersion) -> bool:
    """It only takes away from what is published, and holds no warning that somebody must tick."""
    predecessor = active_version(version.adapter_id, version.environment)
    if predecessor is None or _warnings(version):
        return False
    return risk_of(version, predecessor).verdict is Verdict.NARROWS


def _obstacles(version: AdapterVersion) -> tuple[Obstacle, ...]:
    # Linted again: the rules may have grown since the draft was saved.
    rewrite_findings(version, manifest_of(version))
    blocking = version.findings.filter(severity="block")
    return tuple(Obstacle(id=f.tick_id, message=f.message) for f in blocking)


def _warnings(version: AdapterVersion) -> tuple[Tick, ...]:
    warnings = version.findings.filter(severity="warn")
    return tuple(Tick(id=finding.tick_id, rule=finding.rule) for finding in warnings)


def _at_submission(version: AdapterVersion) -> dict[str, Any]:
    predecessor = active_version(version.adapter_id, version.environment)
    verdict = risk_of(version, predecessor).verdict
    return {"compared_with": predecessor, "risk": verdict.value}


def _on_publish(version: AdapterVersion, actor: Actor) -> None:
    current = active_version(version.adapter_id, version.environment)
    _refuse_outdated_fast_path(version, current)
    if current is not None and current.pk != version.pk:
        review.deprecate(
            ADAPTER_VERSIONS, version_id=current.pk, actor=actor, successor=version.version_id
        )
        current.capabilities.update(is_active=False)
    _refuse_taken_capabilities(version)
    version.capabilities.update(is_active=True)


def _refuse_outdated_fast_path(version: AdapterVersion, current: AdapterVersion | None) -> None:
    """Nobody looked at it because it narrowed one version; that has to be the one it replaces."""
    first_time = version.state == VersionState.APPROVED
    compared = version.compared_with_id
    if first_time and version.reviewers_needed == 0 and (current is None or current.pk != compared):
        raise coded_error("manifest.comparison_outdated", data={"compared_with": compared})


def _refuse_taken_capabilities(version: AdapterVersion) -> None:
    mine = version.capabilities.values_list("capability_id", flat=True)
    taken = (
        Capability.objects.filter(
            tenant_id=version.tenant_id,
            environment=version.environment,
            is_active=True,
            capability_id__in=list(mine),
        )
        .exclude(version=version)
        .select_related("version__adapter")
    )
    clash = taken.first()
    if clash is not None:
        raise coded_error(
            "manifest.capability_taken",
            message=f"{clash.capability_id} is already published by "
            f"{clash.version.adapter.adapter_id} in {version.environment}.",
            data={"capability_id": clash.capability_id},
        )


def _on_signed(version: AdapterVersion, actor: Actor) -> None:
    take_names_from(version.adapter, manifest_of(version))
    envelope = version.envelope or {}
    for signature in envelope.get("signatures", ()):
        Signature.objects.get_or_create(
            version=version,
            kid=signature["keyid"],
            defaults={
                "payload_type": PAYLOAD_TYPE,
                "envelope_digest": digest(envelope),
                "signed_by": actor.id,
            },
        )


def _on_retire(version: AdapterVersion, actor: Actor) -> None:
    version.capabilities.update(is_active=False)


def _describe(version: AdapterVersion) -> dict[str, Any]:
    return {
        "adapter_id": version.adapter.adapter_id,
        "version": version.version,
        "environment": version.environment,
        "highest_mode": version.highest_mode,
        **_told_risk(version),
    }


def _told_risk(version: AdapterVersion) -> dict[str, Any]:
    """What it widens against what was published, in the event: reports read nothing else."""
    if not version.risk:
        return {}
    before = version.compared_with
    told: dict[str, Any] = {
        "risk": version.risk,
        "compared_with": before.version if before else None,
    }
    if version.state != VersionState.PUBLISHED or version.risk != Verdict.WIDENS.value:
        return told
    wider = {c.rule for c in risk_of(version, before).changes if c.direction.needs_review}
    return {**told, "widenings": sorted(wider)[:MOST_TOLD]}


ADAPTER_VERSIONS: ReviewKind[AdapterVersion] = ReviewKind(
    name="adapter_version",
    version_model=AdapterVersion,
    entry_model=Review,
    payload_type=PAYLOAD_TYPE,
    key_purpose=KeyPurpose.MANIFESTS,
    reviewer_roles=REVIEWERS,
    document=_document,
    reviewers_needed=_reviewers_needed,
    obstacles=_obstacles,
    warnings=_warnings,
    at_submission=_at_submission,
    on_publish=_on_publish,
    on_signed=_on_signed,
    on_retire=_on_retire,
    describe=_describe,
)

ADAPTER_LIFECYCLE = RegistryLifecycle(ADAPTER_VERSIONS)
submit = ADAPTER_LIFECYCLE.submit
approve = ADAPTER_LIFECYCLE.approve
reject = ADAPTER_LIFECYCLE.reject
request_changes = ADAPTER_LIFECYCLE.request_changes
comment = ADAPTER_LIFECYCLE.comment
publish = ADAPTER_LIFECYCLE.publish
retire = ADAPTER_LIFECYCLE.retire
