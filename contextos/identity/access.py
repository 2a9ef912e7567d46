"""Who may do what where, answered from current memberships and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from contextos.identity.models import Membership, Tenant, User


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody holds in one tenant at this moment."""

    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()


NOTHING = Access()


def access_in(user: Any, tenant: Tenant | str | None) -> Access:
    """Roles and their permissions, in one statement; a stranger, and nobody at all, has nothing."""
    if tenant is None or not isinstance(user, User) or not user.is_active:
        return NOTHING
    rows = (
        Membership.objects.current()
        .filter(user_id=user.pk, tenant_id=_tenant_id(tenant))
        .order_by()
        .values_list(
            "role__name",
            "role__permissions__content_type__app_label",
            "role__permissions__codename",
        )
    )
    found = list(rows)
    return Access(
        roles=frozenset(role for role, _, _ in found),
        permissions=frozenset(f"{app}.{name}" for _, app, name in found if name),
    )


def roles_of(user: Any, tenant: Tenant | str | None) -> frozenset[str]:
    """The roles somebody holds in a tenant now. Being superuser is not a role."""
    return access_in(user, tenant).roles


def tenants_of(user: Any) -> QuerySet[Tenant]:
    """The tenants somebody may act in; superusers in all, also to switch one on again."""
    if not isinstance(user, User) or not user.is_active:
        return Tenant.objects.none()
    if user.is_superuser:
        return Tenant.objects.order_by("-is_active", "tenant_id")
    mine = Membership.objects.current().filter(user_id=user.pk, tenant_id=OuterRef("pk"))
    return Tenant.objects.filter(Exists(mine)).order_by("tenant_id")


def may_sign_in(user: User) -> bool:
    """An active person with a current membership, or one who runs the installation."""
    if not user.is_active:
        return False
    return user.is_superuser or Membership.objects.current().filter(user_id=user.pk).exists()


def last_term_ended(user: User | str, tenant: Tenant | str | None = None) -> datetime | None:
    """When the last role of somebody without a current one ended; None when none simply ended."""
    whose = {"user__user_id": user} if isinstance(user, str) else {"user_id": user.pk}
    rows = Membership.objects.filter(
        **whose, valid_until__lte=timezone.now(), user__is_active=True, tenant__is_active=True
    )
    if tenant is not None:
        rows = rows.filter(tenant_id=_tenant_id(tenant))
    ended: datetime | None = (
        rows.order_by("-valid_until").values_list("valid_until", flat=True).first()
    )
    return ended


def _tenant_id(tenant: Tenant | str) -> str:
    return tenant if isinstance(tenant, str) else str(tenant.pk)
