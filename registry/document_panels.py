"""Packs and policies on the front page: what waits, what decides, what can't be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.access import roles_of
from contextos.identity.models import User
from contextos.review.document_versions import DocumentVersion
from contextos.review.signed_documents import open_document
from contextos.review.states import Verdict, VersionState
from registry.models import (
    ContextPackVersion,
    PackReview,
    PolicyBundleVersion,
    PolicyReview,
)
from registry.roles import REVIEWERS

SHOWN = 5
# Signatures are checked anew for every view of the page, so only so many.
CHECKED_SIGNATURES = 20
_KINDS: tuple[tuple[type[DocumentVersion], Any], ...] = (
    (ContextPackVersion, PackReview),
    (PolicyBundleVersion, PolicyReview),
)


def reviews_for_me(request: HttpRequest) -> Panel | None:
    """Packs and policies that this very person may decide on."""
    user, tenant = request.user, acting_tenant(request)
    if not isinstance(user, User) or tenant is None:
        return None
    if REVIEWERS.isdisjoint(roles_of(user, tenant.pk)):
        return None
    waiting = [
        version
        for model, reviews in _KINDS
        for version in _undecided(_rows(model, request), reviews, user)
        if user.user_id not in version.editors
    ]
    rows = [
        Row(
            text=version.ref,
            detail=f"submitted by {version.author} {relative(version.submitted_at)}",
            url=_page(version, "review"),
            label=str(version._meta.verbose_name),
            tone="info",
        )
        for version in waiting
    ]
    return Panel("Packs and policies to review", rows[:SHOWN], total=len(rows))


def _undecided(rows: QuerySet[Any], reviews: Any, user: User) -> QuerySet[Any]:
    decided = reviews.objects.filter(version=OuterRef("pk"), reviewer=user).exclude(
        verdict=Verdict.COMMENT
    )
    waiting = rows.filter(~Exists(decided), state=VersionState.IN_REVIEW).exclude(author=user)
    return waiting.order_by("submitted_at")[:50]


def approved_to_publish(request: HttpRequest) -> Panel | None:
    """Approved packs and policies, for those who publish."""
    if not request.user.has_perm("registry.publish_policybundleversion"):
        return None
    rows = [
        Row(
            text=version.ref,
            detail=str(version._meta.verbose_name),
            url=admin_url(model, "change", version.pk),
            label="approved",
            tone="info",
        )
        for model, _ in _KINDS
        for version in _rows(model, request).filter(state=VersionState.APPROVED)[:50]
    ]
    return Panel("Packs and policies to be published", rows[:SHOWN], total=len(rows))


def policies_in_force(request: HttpRequest) -> Panel | None:
    """The bundles that decide now, and those that watch."""
    if not may(request, "view", PolicyBundleVersion):
        return None
    found = _rows(PolicyBundleVersion, request).filter(state=VersionState.PUBLISHED)
    rows = [
        Row(
            text=version.ref,
            detail=f"{version.rule_count} rules, priority {version.priority}",
            url=admin_url(PolicyBundleVersion, "change", version.pk),
            label="watches only" if version.shadow else "decides",
            tone="info" if version.shadow else "success",
        )
        for version in found.order_by("shadow", "-priority")[:SHOWN]
    ]
    more = admin_url(PolicyBundleVersion)
    return Panel("Policies in force", rows, total=found.count(), more_url=more)


def refused_signatures(request: HttpRequest) -> Panel | None:
    """Published packs and policies that nobody can use, because their signature does not hold."""
    if not may(request, "view", PolicyBundleVersion):
        return None
    return Panel("Packs and policies that can't be trusted", list(_refused(request)))


def _refused(request: HttpRequest) -> Iterator[Row]:
    for model, _ in _KINDS:
        published = _rows(model, request, with_envelope=True).filter(state=VersionState.PUBLISHED)
        for version in published.order_by("-published_at")[:CHECKED_SIGNATURES]:
            problem = open_document(version).problem
            if problem is not None:
                yield Row(
                    text=version.ref,
                    detail=problem,
                    url=admin_url(model, "change", version.pk),
                    label="not usable",
                    tone="danger",
                )


def first_steps(request: HttpRequest) -> Panel | None:
    """The getting-started steps: a policy, then a pack."""
    tenant = acting_tenant(request)
    if tenant is None or not request.user.has_perm("registry.add_contextpackversion"):
        return None
    return Panel(
        "",
        [
            _step(
                PolicyBundleVersion,
                request,
                "Publish your first policy",
                "Without a published policy every call is denied.",
            ),
            _step(
                ContextPackVersion,
                request,
                "Publish your first Context Pack",
                "It says which capabilities exist for which runs.",
            ),
        ],
    )


def _step(model: type[DocumentVersion], request: HttpRequest, text: str, detail: str) -> Row:
    published = _rows(model, request).filter(state=VersionState.PUBLISHED)
    address = reverse(f"admin:registry_{model._meta.model_name}_new")
    return Row(text, detail, url=address, done=published.exists())


def _rows(
    model: type[DocumentVersion], request: HttpRequest, *, with_envelope: bool = False
) -> QuerySet[Any]:
    tenant = acting_tenant(request)
    rows: QuerySet[Any] = model._default_manager.filter(tenant_id=tenant.pk if tenant else None)
    rows = rows.select_related("author")
    return rows if with_envelope else rows.defer("envelope")


def _page(version: DocumentVersion, page: str) -> str:
    return reverse(f"admin:registry_{version._meta.model_name}_{page}", args=[version.pk])


register_panel(key="registry.document_reviews", column="waiting", build=reviews_for_me, order=22)
register_panel(
    key="registry.document_publish", column="waiting", build=approved_to_publish, order=32
)
register_panel(key="registry.policies", column="published", build=policies_in_force, order=20)
register_panel(
    key="registry.document_signatures", column="failing", build=refused_signatures, order=22
)
register_panel(key="registry.document_start", column="start", build=first_steps, order=30)
