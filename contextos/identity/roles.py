"""The seven roles as data, and writing them to the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType

from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from contextos.identity.contributions import contributed_modules

AUDITOR = "auditor"
TIME_BOUNDED = frozenset({AUDITOR})  # roles that need an end date

# The order is the one in which a person's roles are named.
ROLES: Mapping[str, str] = MappingProxyType(
    {
        "platform_admin": "Runs the tenant: people, agents, issuers, tokens, adapters.",
        "manifest_author": "Writes adapter manifests, packs and policies, and submits them.",
        "manifest_reviewer": "Reviews what others submitted; never what they wrote themselves.",
        "finance_approver": "Votes at the gates they were given.",
        AUDITOR: "Reads everything for a limited time and changes nothing.",
        "operator": "Keeps it running: kill switches, suspended agents, revoked tokens.",
        "service": "A workload that signs in like a person; sees no page.",
    }
)

_HOME = ("identity.view_tenant", "identity.view_environment")
_READ_ALL = (
    *_HOME,
    "identity.view_user",
    "identity.view_membership",
    "identity.view_agent",
    "identity.view_trustedissuer",
    "identity.view_issuedtoken",
    "auth.view_group",
)

# Each app that adds models says in its own `roles.py` what the roles may do there.
PERMISSIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "platform_admin": (
            *_READ_ALL,
            "identity.change_tenant",
            "identity.add_environment",
            "identity.change_environment",
            "identity.add_user",
            "identity.change_user",
            "identity.add_membership",
            "identity.change_membership",
            "identity.delete_membership",
            "identity.add_agent",
            "identity.change_agent",
            "identity.suspend_agent",
            "identity.add_trustedissuer",
            "identity.change_trustedissuer",
            "identity.add_issuedtoken",
            "identity.revoke_issuedtoken",
        ),
        "manifest_author": (*_HOME, "identity.view_agent"),
        "manifest_reviewer": (*_HOME, "identity.view_agent"),
        "finance_approver": (*_HOME, "identity.view_agent"),
        AUDITOR: _READ_ALL,
        "operator": (
            *_HOME,
            "identity.view_agent",
            "identity.suspend_agent",
            "identity.view_trustedissuer",
            "identity.view_issuedtoken",
            "identity.revoke_issuedtoken",
        ),
        "service": (),
    }
)


@cache
def declared_permissions() -> Mapping[str, frozenset[str]]:
    """What every app together gives each role; an unknown role is a fault of the app."""
    union: dict[str, set[str]] = {role: set() for role in ROLES}
    for module in contributed_modules("roles"):
        for role, names in module.PERMISSIONS.items():
            if role not in union:
                raise ImproperlyConfigured(f"{module.__name__} names the unknown role {role!r}.")
            union[role].update(names)
    return MappingProxyType({role: frozenset(names) for role, names in union.items()})


def in_words(role: str) -> str:
    """`platform_admin` as people say it."""
    return role.replace("_", " ")


def ordered(roles: Iterable[str]) -> tuple[str, ...]:
    """Roles in the order of the table, so that the first is the weightiest."""
    held = set(roles)
    return tuple(role for role in ROLES if role in held)


def sync_roles(*, app_labels: Iterable[str] | None = None, using: str = "default") -> None:
    """Make groups and their permissions equal to the tables above; doing it twice changes nothing.

    With `app_labels` only permissions on those apps' models are touched: while migrations run,
    the models of later apps do not exist yet.
    """
    with transaction.atomic(using=using):
        groups = _groups(using)
        known = _permission_ids(app_labels, using)
        for role, names in declared_permissions().items():
            _set_permissions(
                groups[role], {known[n] for n in names if n in known}, set(known.values())
            )


def _groups(using: str) -> dict[str, Group]:
    Group.objects.using(using).bulk_create(
        [Group(name=role) for role in ROLES], ignore_conflicts=True
    )
    return {group.name: group for group in Group.objects.using(using).filter(name__in=ROLES)}


def _permission_ids(app_labels: Iterable[str] | None, using: str) -> dict[str, int]:
    rows = Permission.objects.using(using).order_by()
    if app_labels is not None:
        rows = rows.filter(content_type__app_label__in=list(app_labels))
    found = rows.values_list("content_type__app_label", "codename", "pk")
    return {f"{app}.{codename}": pk for app, codename, pk in found}


def _set_permissions(group: Group, wanted: set[int], within: set[int]) -> None:
    held = set(group.permissions.values_list("pk", flat=True)) & within
    if held - wanted:
        group.permissions.remove(*(held - wanted))
    if wanted - held:
        group.permissions.add(*(wanted - held))
