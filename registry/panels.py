"""The registry's part of the front page and of the menu: what waits, is published, is failing."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.access import roles_of
from contextos.identity.models import User
from contextos.review.document_versions import DocumentVersion
from contextos.review.states import Verdict, VersionState
from registry import document_panels  # noqa: F401  registers the panels of packs and policies
from registry.models import (
    Adapter,
    AdapterVersion,
    ContextPackVersion,
    Finding,
    KillSwitch,
    PolicyBundleVersion,
    Review,
)
from registry.roles import REVIEWERS
from registry.selectors import signed_manifest, thrown_switches

SHOWN = 5
# Signatures are checked anew for every view of the page, so only so many.
CHECKED_SIGNATURES = 20


# --- the menu --------------------------------------------------------------------------------
def versions_in_review(request: HttpRequest) -> str:
    """How many versions wait for a reviewer; nothing when none does."""
    return _number(_versions(request).filter(state=VersionState.IN_REVIEW).count())


def packs_in_review(request: HttpRequest) -> str:
    """How many Context Packs wait for a reviewer; nothing when none does."""
    return _number(_waiting(ContextPackVersion, request))


def policies_in_review(request: HttpRequest) -> str:
    """How many policy bundles wait for a reviewer; nothing when none does."""
    return _number(_waiting(PolicyBundleVersion, request))


def _waiting(model: type[DocumentVersion], request: HttpRequest) -> int:
    tenant = acting_tenant(request)
    rows = model._default_manager.filter(state=VersionState.IN_REVIEW)
    return rows.filter(tenant_id=tenant.pk).count() if tenant else 0


def thrown_switch_count(request: HttpRequest) -> str:
    """How many kill switches stop calls now; nothing when none does."""
    tenant = acting_tenant(request)
    return _number(thrown_switches(tenant.pk).count()) if tenant else ""


def _number(count: int) -> str:
    return str(count) if count else ""


# --- the front page --------------------------------------------------------------------------
def reviews_for_me(request: HttpRequest) -> Panel | None:
    """Versions that this very person may decide on."""
    user, tenant = request.user, acting_tenant(request)
    if not isinstance(user, User) or tenant is None:
        return None
    if REVIEWERS.isdisjoint(roles_of(user, tenant.pk)):
        return None
    decided = Review.objects.filter(version=OuterRef("pk"), reviewer=user).exclude(
        verdict=Verdict.COMMENT
    )
    rows = _versions(request).filter(~Exists(decided), state=VersionState.IN_REVIEW)
    waiting = rows.exclude(author=user).order_by("submitted_at")
    mine = [version for version in waiting[:50] if user.user_id not in version.editors]
    return Panel(
        "Versions to review",
        [
            Row(
                text=str(version),
                detail=f"submitted by {version.author} {_ago(version)}",
                url=reverse("admin:registry_adapterversion_review", args=[version.pk]),
                label=version.risk if version.compared_with_id else "all new",
                tone="danger" if version.risk == "widens" else "info",
            )
            for version in mine[:SHOWN]
        ],
        total=len(mine),
        more_url=admin_url(AdapterVersion),
    )


def approved_to_publish(request: HttpRequest) -> Panel | None:
    """Approved versions, for those who publish."""
    if not request.user.has_perm("registry.publish_adapterversion"):
        return None
    rows = _versions(request).filter(state=VersionState.APPROVED).order_by("decided_at")
    return Panel(
        "Approved, to be published",
        [
            Row(
                text=str(version),
                detail=f"for {version.environment}",
                url=admin_url(AdapterVersion, "change", version.pk),
                label="approved",
                tone="info",
            )
            for version in rows[:SHOWN]
        ],
        total=rows.count(),
        more_url=f"{admin_url(AdapterVersion)}?state={VersionState.APPROVED.value}",
    )


def changes_for_me(request: HttpRequest) -> Panel | None:
    """Versions of mine that reviewers sent back, until I start a newer one."""
    if not isinstance(request.user, User):
        return None
    newer = AdapterVersion.objects.filter(
        adapter=OuterRef("adapter"), created_at__gt=OuterRef("created_at")
    )
    rows = _versions(request).filter(
        ~Exists(newer), author=request.user, state=VersionState.CHANGES_REQUESTED
    )
    return Panel(
        "Changes asked of you",
        [
            Row(
                text=str(version),
                detail="Start a new version from it.",
                url=f"{admin_url(AdapterVersion, 'change', version.pk)}?tab=reviews",
                label="changes requested",
                tone="warning",
            )
            for version in rows[:SHOWN]
        ],
        total=rows.count(),
    )


def published_adapters(request: HttpRequest) -> Panel | None:
    """What agents can reach."""
    if not may(request, "view", Adapter):
        return None
    rows = _versions(request).filter(state=VersionState.PUBLISHED).order_by("-published_at")
    return Panel(
        "Adapters",
        [
            Row(
                text=single_line(version.adapter.name, limit=80),
                detail=f"{version}, {_capabilities(version)}",
                url=admin_url(AdapterVersion, "change", version.pk),
                label=version.environment,
                tone="success",
            )
            for version in rows[:SHOWN]
        ],
        total=rows.count(),
        more_url=admin_url(Adapter),
    )


def blocked_drafts(request: HttpRequest) -> Panel | None:
    """Drafts of mine that can't be submitted yet."""
    if not isinstance(request.user, User):
        return None
    blocking = Finding.objects.filter(version=OuterRef("pk"), severity="block")
    rows = _versions(request).filter(
        Exists(blocking), author=request.user, state=VersionState.DRAFT
    )
    return Panel(
        "Your drafts with blocking findings",
        [
            Row(
                text=str(version),
                detail=f"begun {relative(version.created_at)}",
                url=f"{admin_url(AdapterVersion, 'change', version.pk)}?tab=findings",
                label="blocked",
                tone="warning",
            )
            for version in rows[:SHOWN]
        ],
        total=rows.count(),
        more_url=f"{admin_url(AdapterVersion)}?state={VersionState.DRAFT.value}",
    )


def refused_signatures(request: HttpRequest) -> Panel | None:
    """Published versions that nobody can use, because their signature does not hold."""
    if not may(request, "view", AdapterVersion):
        return None
    published = _versions(request, with_envelope=True).filter(state=VersionState.PUBLISHED)
    rows = list(_refused(published.order_by("-published_at")[:CHECKED_SIGNATURES]))
    return Panel("Signatures that do not hold", rows)


def _refused(versions: Iterable[AdapterVersion]) -> Iterable[Row]:
    for version in versions:
        try:
            signed_manifest(version)
        except ContextOSError as refusal:
            yield Row(
                text=str(version),
                detail=refusal.message,
                url=admin_url(AdapterVersion, "change", version.pk),
                label="not usable",
                tone="danger",
            )


def stopped(request: HttpRequest) -> Panel | None:
    """Kill switches that stop calls now."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", KillSwitch):
        return None
    rows = thrown_switches(tenant.pk)
    return Panel(
        "Kill switches",
        [
            Row(
                text=single_line(str(switch), limit=120),
                detail=f"{single_line(switch.reason, limit=120)}, {relative(switch.thrown_at)}",
                url=admin_url(KillSwitch, "change", switch.pk),
                label="stopped",
                tone="danger",
            )
            for switch in rows[:SHOWN]
        ],
        total=rows.count(),
        more_url=admin_url(KillSwitch),
    )


def first_adapter(request: HttpRequest) -> Panel | None:
    """The getting-started step of the registry."""
    tenant = acting_tenant(request)
    if tenant is None or not request.user.has_perm("registry.add_adapterversion"):
        return None
    published = AdapterVersion.objects.filter(tenant_id=tenant.pk, state=VersionState.PUBLISHED)
    return Panel(
        "",
        [
            Row(
                "Publish your first adapter",
                "Write a manifest, have it reviewed by somebody else, and sign it.",
                url=reverse("admin:registry_adapterversion_new"),
                done=published.exists(),
            )
        ],
    )


def _versions(request: HttpRequest, *, with_envelope: bool = False) -> QuerySet[AdapterVersion]:
    tenant = acting_tenant(request)
    rows = AdapterVersion.objects.filter(tenant_id=tenant.pk if tenant else None)
    rows = rows.select_related("adapter", "author")
    return rows if with_envelope else rows.defer("envelope")


def _capabilities(version: AdapterVersion) -> str:
    count = version.capability_count
    return "1 capability" if count == 1 else f"{count} capabilities"


def _ago(version: AdapterVersion) -> str:
    return relative(version.submitted_at) if version.submitted_at else ""


register_panel(key="registry.reviews", column="waiting", build=reviews_for_me, order=20)
register_panel(key="registry.publish", column="waiting", build=approved_to_publish, order=30)
register_panel(key="registry.changes", column="waiting", build=changes_for_me, order=40)
register_panel(key="registry.published", column="published", build=published_adapters, order=10)
register_panel(key="registry.stopped", column="failing", build=stopped, order=10)
register_panel(key="registry.signatures", column="failing", build=refused_signatures, order=20)
register_panel(key="registry.drafts", column="failing", build=blocked_drafts, order=30)
register_panel(key="registry.start", column="start", build=first_adapter, order=20)
