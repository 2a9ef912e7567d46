"""Gates: drafted, reviewed by a second person, signed, published, retired."""

from __future__ import annotations

from functools import partial
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
from contextos.review import documents
from contextos.review.document_kinds import make_way, review_kind
from contextos.review.documents import DocumentKind
from contextos.review.findings import Finding
from contextos.review.kinds import ReviewKind
from contextos.review.lifecycle import ReviewedLifecycle
from contextos.review.states import VersionState


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


@transaction.atomic
def _on_publish(version: GateVersion, actor: Actor) -> None:
    make_way(GATES, version, actor)
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


GATE_DOCUMENTS: DocumentKind[GateVersion] = DocumentKind(
    name="gate",
    model=GateVersion,
    id_prefix="gate",
    settle=_settle,
    columns=_columns,
    examine=_examine,
)
GATES: ReviewKind[GateVersion] = review_kind(
    GATE_DOCUMENTS,
    entry_model=GateReview,
    reviewer_roles=REVIEWERS,
    on_publish=_on_publish,
    on_retire=_take_permission,
)

create_draft = partial(documents.create_draft, GATE_DOCUMENTS)
replace_draft = partial(documents.replace_draft, GATE_DOCUMENTS)
GATE_LIFECYCLE = ReviewedLifecycle(GATES)
submit = GATE_LIFECYCLE.submit
approve = GATE_LIFECYCLE.approve
reject = GATE_LIFECYCLE.reject
request_changes = GATE_LIFECYCLE.request_changes
comment = GATE_LIFECYCLE.comment
publish = GATE_LIFECYCLE.publish
retire = GATE_LIFECYCLE.retire
