"""Policy bundles: drafted, reviewed, signed, published in shadow or for real, retired."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from contextos.review import documents
from contextos.review import services as review
from contextos.review.document_kinds import make_way, review_kind
from contextos.review.documents import DocumentKind
from contextos.review.kinds import ReviewKind
from contextos.review.states import VersionState
from registry.models import PolicyBundleVersion, PolicyReview
from registry.policy import run_bundle_tests
from registry.policy_findings import examine_bundle
from registry.roles import REVIEWERS
from registry.services.reviewed import RegistryLifecycle

_PRIORITY_LIMIT = 2**31 - 1


class PolicyLifecycle(RegistryLifecycle[PolicyBundleVersion]):
    """As every kind; a bundle may be published to watch first, and to decide later."""

    @transaction.atomic
    def publish(
        self, *, version_id: str, actor: Actor, rollout_notes: str = "", shadow: bool = False
    ) -> PolicyBundleVersion:
        """Sign and activate; a version that watches in shadow decides from now on."""
        self.line_up(version_id)
        version = PolicyBundleVersion.objects.filter(pk=version_id).first()
        if version is not None:
            require_authority(actor, version.tenant_id)
            if version.state == VersionState.PUBLISHED and version.shadow and not shadow:
                return _enforce(version, actor, rollout_notes)
            # Not of a version that is published: from deciding back to watching is no step.
            PolicyBundleVersion.objects.filter(pk=version_id).exclude(
                state=VersionState.PUBLISHED
            ).update(shadow=shadow)
        return review.publish(self.kind, version_id=version_id, actor=actor, notes=rollout_notes)


def _enforce(version: PolicyBundleVersion, actor: Actor, notes: str) -> PolicyBundleVersion:
    _require_passing_tests(version)
    make_way(POLICY_BUNDLES, version, actor, shadow=False)
    watching = PolicyBundleVersion.objects.filter(
        pk=version.pk, state=VersionState.PUBLISHED, shadow=True
    )
    columns = {"published_at": timezone.now(), "published_by": actor.id}
    if watching.update(shadow=False, publication_notes=notes.strip(), **columns) != 1:
        raise coded_error(
            "state.transition_refused",
            message="Somebody else changed this version at the same moment; load it again.",
        )
    version.refresh_from_db()
    record_event(
        tenant_id=version.tenant_id,
        action="policy_bundle.enforced",
        actor=actor,
        subject_kind="policy_bundle",
        subject_id=version.version_id,
        reason=notes.strip(),
        data={**documents.describe(version), "digest": version.digest},
    )
    return version


def _require_passing_tests(version: PolicyBundleVersion) -> None:
    results = run_bundle_tests(documents.stored_document(version))
    failing = [result for result in results if not result.passed]
    if failing:
        raise coded_error(
            "policy_bundle.tests_failed",
            message=f"{len(failing)} of {len(results)} tests of the bundle fail; "
            f"{failing[0].name}: {failing[0].differences[0]}",
            data={"failed": [result.name for result in failing[:50]]},
        )


def _columns(document: dict[str, Any]) -> dict[str, Any]:
    priority = document.get("priority")
    usable = type(priority) is int and abs(priority) <= _PRIORITY_LIMIT
    return {
        "priority": priority if usable else 0,
        "rule_count": _length(document.get("rules")),
        "test_count": _length(document.get("tests")),
    }


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _on_publish(version: PolicyBundleVersion, actor: Actor) -> None:
    """One version decides, and one may watch beside it."""
    _require_passing_tests(version)
    make_way(POLICY_BUNDLES, version, actor, shadow=version.shadow)


BUNDLE_DOCUMENTS: DocumentKind[PolicyBundleVersion] = DocumentKind(
    name="policy_bundle",
    model=PolicyBundleVersion,
    id_prefix="bun",
    settle=lambda tenant_id, document: document,
    columns=_columns,
    examine=examine_bundle,
)
POLICY_BUNDLES: ReviewKind[PolicyBundleVersion] = review_kind(
    BUNDLE_DOCUMENTS, entry_model=PolicyReview, reviewer_roles=REVIEWERS, on_publish=_on_publish
)
POLICY_LIFECYCLE = PolicyLifecycle(POLICY_BUNDLES)
create_draft = partial(documents.create_draft, BUNDLE_DOCUMENTS)
replace_draft = partial(documents.replace_draft, BUNDLE_DOCUMENTS)
