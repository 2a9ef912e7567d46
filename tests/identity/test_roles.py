"""Roles are data: the database holds exactly what the code declares."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from contextos.identity import contributions, roles
from contextos.identity.roles import ROLES, declared_permissions, ordered, sync_roles

pytestmark = pytest.mark.django_db

EVERY_VIEW_OF_IDENTITY = {
    "identity.view_tenant",
    "identity.view_environment",
    "identity.view_user",
    "identity.view_membership",
    "identity.view_agent",
    "identity.view_trustedissuer",
    "identity.view_issuedtoken",
    "auth.view_group",
}
HOME = {"identity.view_tenant", "identity.view_environment"}
EXPECTED = {
    "platform_admin": EVERY_VIEW_OF_IDENTITY
    | {
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
        "audit.view_auditevent",
    },
    "manifest_author": HOME | {"identity.view_agent"},
    "manifest_reviewer": HOME | {"identity.view_agent", "audit.view_auditevent"},
    "finance_approver": HOME | {"identity.view_agent"},
    "auditor": EVERY_VIEW_OF_IDENTITY | {"audit.view_auditevent"},
    "operator": HOME
    | {
        "identity.view_agent",
        "identity.suspend_agent",
        "identity.view_trustedissuer",
        "identity.view_issuedtoken",
        "identity.revoke_issuedtoken",
        "audit.view_auditevent",
    },
    "service": set[str](),
}
GROUND = ("identity", "auth")  # each other app tests its own part
VIEW_EVENTS = "audit.view_auditevent"


def stored(role: str) -> set[str]:
    rows = Permission.objects.filter(group__name=role)
    return {
        f"{app}.{name}" for app, name in rows.values_list("content_type__app_label", "codename")
    }


def in_ground(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] in GROUND or name == VIEW_EVENTS}


def test_there_are_exactly_the_seven_roles() -> None:
    assert set(Group.objects.values_list("name", flat=True)) == set(ROLES) == set(EXPECTED)


@pytest.mark.parametrize("role", sorted(EXPECTED))
def test_each_role_holds_exactly_its_permissions(role: str) -> None:
    assert in_ground(stored(role)) == EXPECTED[role]


@pytest.mark.parametrize("role", sorted(EXPECTED))
def test_every_declared_permission_exists_in_the_database(role: str) -> None:
    assert stored(role) == declared_permissions()[role]


# Work beside the log, each recorded in it: what is taken along, who may look, what has to be kept.
TAKING_ALONG = {
    "audit.add_exportjob",
    "audit.change_exportjob",
    "audit.add_reportdefinition",
    "audit.change_reportdefinition",
}
KEEPING = {
    "audit.add_logcheck",  # has the log verified; changes nothing of it
    "audit.add_auditoraccess",
    "audit.change_auditoraccess",
    "audit.add_erasure",
    "audit.add_legalhold",
    "audit.release_legalhold",
    "audit.change_retentionrule",
}


def test_no_role_may_change_the_log_or_create_tenants() -> None:
    everything = set().union(*(stored(role) for role in ROLES))
    of_the_log = {name for name in everything if name.startswith("audit.")}
    said = {name for name in of_the_log if not name.startswith("audit.view_")}
    assert said == TAKING_ALONG | KEEPING
    assert "identity.add_tenant" not in everything


def test_an_auditor_looks_and_takes_along_and_changes_nothing() -> None:
    assert {name for name in stored("auditor") if ".view_" not in name} == TAKING_ALONG


def test_syncing_again_changes_nothing_and_repairs_what_was_changed() -> None:
    before = {role: stored(role) for role in ROLES}
    sync_roles()
    assert {role: stored(role) for role in ROLES} == before
    Group.objects.get(name="auditor").permissions.add(
        Permission.objects.get(codename="change_agent")
    )
    Group.objects.get(name="operator").permissions.clear()
    call_command("sync_roles", verbosity=0)
    assert {role: stored(role) for role in ROLES} == before


def test_syncing_one_app_leaves_the_others_alone() -> None:
    Group.objects.get(name="operator").permissions.clear()
    sync_roles(app_labels=["audit"])
    assert VIEW_EVENTS in stored("operator")
    assert {name.split(".")[0] for name in stored("operator")} == {"audit"}


def test_roles_are_named_in_the_order_of_the_table() -> None:
    assert ordered({"operator", "platform_admin", "stranger"}) == ("platform_admin", "operator")


def test_an_app_that_names_an_unknown_role_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        __name__ = "wrong.roles"
        PERMISSIONS = {"superhero": ("audit.view_auditevent",)}

    def modules(name: str) -> Any:
        return iter([Wrong])

    monkeypatch.setattr(roles, "contributed_modules", modules)
    declared_permissions.cache_clear()
    try:
        with pytest.raises(ImproperlyConfigured, match="superhero"):
            declared_permissions()
    finally:
        declared_permissions.cache_clear()


def test_apps_contribute_without_being_imported_by_name() -> None:
    names = [module.__name__ for module in contributions.contributed_modules("roles")]
    assert {"contextos.identity.roles", "audit.roles"} <= set(names)
