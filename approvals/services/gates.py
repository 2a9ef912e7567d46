"""Gates: drafted, reviewed by a second person, signed, published, retired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from guardian.shortcuts import assign_perm, get_groups_with_perms, remove_perm

from approvals.gate_examination import examine
from approvals.gates import read_terms
from approvals.models import ApproverGroup, Gate, GateReview, GateVersion
from approvals.roles import REVIEWERS
from approvals.selectors import VOTE, group_sizes
from contextos.core.events import Actor
from contextos.core.signing import KeyPurpose
from contextos.identity.models import User
from contextos.review import documents
from contextos.review import services as review
from contextos.review.documents import DocumentKind
from contextos.review.findings import Finding
from contextos.review.kinds import ReviewKind
from contextos.review.lifecycle import ReviewedLifecycle
from contextos.review.states import VersionState


def create_draft(
    *, tenant_id: str, document: Mapping[str, Any], author: User, actor: Actor
) -> GateVersion:
    """A new draft of a gate."""
    return documents.create_draft(
        GATE_DOCUMENTS, tenant_id=tenant_id, document=document, author=author, actor=actor
    )


def replace_draft(
    *,
    version_id: str,
    document: Mapping[str, Any],
    editor: User,
    actor: Actor,
    expected_digest: str | None = None,
) -> GateVersion:
    """Write on a draft of a gate."""
    return documents.replace_draft(
        GATE_DOCUMENTS,
        version_id=version_id,
        document=document,
        editor=editor,
        actor=actor,
        expected_digest=expected_digest,
    )


# --- what gates bring to the shared machinery ----------------------------------------------------
def _settle(tenant_id: str, document: dict[str, Any]) -> dict[str, Any]:
    return document


def _columns(document: dict[str, Any]) -> dict[str, Any]:
    stages = document.get("stages")
    listed = (
        [stage for stage in stages if isinstance(stage, dict)] if isinstance(stages, list) else []
    )
    quorums = [stage.get("quorum", 1) for stage in listed]
    return {
        "stage_count": min(len(listed), 1000),
        "quorum": min(sum(q for q in quorums if isinstance(q, int) and q > 0), 1000),
    }


def _examine(tenant_id: str, document: dict[str, Any]) -> tuple[Finding, ...]:
    return examine(document, group_sizes(tenant_id))


def _at_submission(version: GateVersion) -> dict[str, Any]:
    found = _examine(version.tenant_id, documents.stored_document(version))
    return documents.findings_columns(found)


@transaction.atomic
def _on_publish(version: GateVersion, actor: Actor) -> None:
    current = GateVersion.objects.filter(
        tenant_id=version.tenant_id, gate_id=version.gate_id, state=VersionState.PUBLISHED
    ).exclude(pk=version.pk)
    for predecessor in current:
        review.deprecate(
            GATES, version_id=predecessor.pk, actor=actor, successor=version.version_id
        )
    _give_permission(version)


def _give_permission(version: GateVersion) -> None:
    """The groups the version names may vote at the gate; others lose it."""
    gate, _ = Gate.objects.get_or_create(tenant_id=version.tenant_id, gate_id=version.gate_id)
    named = read_terms(documents.stored_document(version)).groups
    rows = ApproverGroup.objects.filter(tenant_id=version.tenant_id, name__in=named)
    wanted = {row.group for row in rows.select_related("group")}
    for group in _groups_at(gate) - wanted:
        remove_perm(VOTE, group, gate)
    for group in wanted:
        assign_perm(VOTE, group, gate)


def _groups_at(gate: Gate) -> set[Group]:
    return set(cast("QuerySet[Group]", get_groups_with_perms(gate)))


def _take_permission(version: GateVersion, actor: Actor) -> None:
    standing = GateVersion.objects.filter(
        tenant_id=version.tenant_id, gate_id=version.gate_id, state=VersionState.PUBLISHED
    )
    gate = Gate.objects.filter(tenant_id=version.tenant_id, gate_id=version.gate_id).first()
    if gate is None or standing.exclude(pk=version.pk).exists():
        return
    for group in _groups_at(gate):
        remove_perm(VOTE, group, gate)


def _nothing(version: GateVersion, actor: Actor) -> None:
    """The permissions were given before the signature; nothing else has to move."""


GATE_DOCUMENTS: DocumentKind[GateVersion] = DocumentKind(
    name="gate",
    model=GateVersion,
    id_prefix="gate",
    settle=_settle,
    columns=_columns,
    examine=_examine,
)
GATES: ReviewKind[GateVersion] = ReviewKind(
    name="gate",
    version_model=GateVersion,
    entry_model=GateReview,
    payload_type=GateVersion.payload_type,
    key_purpose=KeyPurpose.MANIFESTS,
    reviewer_roles=REVIEWERS,
    document=documents.stored_bytes,
    reviewers_needed=lambda version: 1,
    obstacles=lambda version: documents.obstacles_of(GATE_DOCUMENTS, version),
    warnings=documents.warnings_of,
    at_submission=_at_submission,
    on_publish=_on_publish,
    on_signed=_nothing,
    on_retire=_take_permission,
    describe=documents.describe,
)

_lifecycle = ReviewedLifecycle(GATES)
submit = _lifecycle.submit
approve = _lifecycle.approve
reject = _lifecycle.reject
request_changes = _lifecycle.request_changes
comment = _lifecycle.comment
publish = _lifecycle.publish
retire = _lifecycle.retire
