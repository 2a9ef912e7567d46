"""What people may do comes from current memberships in the tenant they act in, and nowhere else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.utils import timezone
from guardian.shortcuts import assign_perm

from contextos.identity import services
from contextos.identity.access import access_in, roles_of, tenants_of
from contextos.identity.backends import MembershipBackend
from contextos.identity.models import Membership, Tenant, User
from tests.factories import (
    PASSWORD,
    SYSTEM,
    acting,
    grant,
    make_agent,
    make_member,
    make_superuser,
    make_user,
)

VIEW_AGENT = "identity.view_agent"


def test_a_role_counts_only_in_its_tenant(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "operator")
    assert roles_of(user, acme) == {"operator"}
    assert roles_of(user, globex) == frozenset()
    assert VIEW_AGENT in access_in(user, acme).permissions
    assert acting(user, acme).has_perm(VIEW_AGENT)
    assert not acting(user, globex).has_perm(VIEW_AGENT)


def test_without_an_acting_tenant_nothing_is_allowed(acme: Tenant) -> None:
    user = acting(make_member(acme, "platform_admin"), None)
    assert not user.has_perm(VIEW_AGENT)
    assert not user.has_module_perms("identity")
    assert user.get_all_permissions() == set()


def test_an_object_of_another_tenant_is_out_of_reach(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "platform_admin")
    grant(user, globex, "platform_admin")
    foreign = make_agent(globex)
    assert acting(user, globex).has_perm(VIEW_AGENT, foreign)
    assert not acting(user, acme).has_perm(VIEW_AGENT, foreign)


def test_a_guardian_permission_does_not_open_another_tenant(acme: Tenant, globex: Tenant) -> None:
    user = make_member(acme, "finance_approver")
    foreign = make_agent(globex)
    assign_perm("identity.change_agent", user, foreign)
    assert not acting(user, acme).has_perm("identity.change_agent", foreign)
    assert not acting(user, globex).has_perm("identity.change_agent", foreign)


def test_a_guardian_permission_ends_with_the_membership(acme: Tenant) -> None:
    user = make_member(acme, "finance_approver")
    agent = make_agent(acme)
    assign_perm("identity.change_agent", user, agent)
    assert acting(user, acme).has_perm("identity.change_agent", agent)
    Membership.objects.filter(user=user).update(valid_until=timezone.now())
    assert not acting(user, acme).has_perm("identity.change_agent", agent)


def test_django_groups_and_direct_permissions_give_nothing(acme: Tenant) -> None:
    user = make_member(acme, "service")
    user.groups.add(Group.objects.get(name="platform_admin"))
    user.user_permissions.add(Permission.objects.get(codename="view_agent"))
    assert not acting(user, acme).has_perm(VIEW_AGENT)


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "counts"),
    [
        (None, None, True),
        (timedelta(minutes=-1), timedelta(minutes=1), True),
        (timedelta(minutes=1), None, False),
        (None, timedelta(seconds=-1), False),
    ],
)
def test_a_membership_counts_only_in_its_time(
    acme: Tenant, valid_from: timedelta | None, valid_until: timedelta | None, counts: bool
) -> None:
    user, now = make_user(), timezone.now()
    grant(
        user,
        acme,
        "operator",
        valid_from=now + valid_from if valid_from else None,
        valid_until=now + valid_until if valid_until else None,
    )
    assert bool(roles_of(user, acme)) is counts
    assert acting(user, acme).has_perm(VIEW_AGENT) is counts
    assert list(tenants_of(user)) == ([acme] if counts else [])


def test_an_inactive_tenant_or_person_has_nothing(acme: Tenant) -> None:
    user = make_member(acme, "platform_admin")
    services.set_tenant_active(tenant_id=acme.pk, active=False, actor=SYSTEM)
    assert not acting(user, acme).has_perm(VIEW_AGENT)
    assert list(tenants_of(user)) == []
    services.set_tenant_active(tenant_id=acme.pk, active=True, actor=SYSTEM)
    services.deactivate_user(user_id=user.user_id, actor=SYSTEM, reason="left")
    assert not acting(user, acme).has_perm(VIEW_AGENT)
    assert roles_of(User.objects.get(pk=user.pk), acme) == frozenset()


def test_strangers_have_nothing(acme: Tenant) -> None:
    assert roles_of(AnonymousUser(), acme) == frozenset()
    assert list(tenants_of(AnonymousUser())) == []


@pytest.mark.proves("D3")
def test_being_superuser_is_no_role(acme: Tenant) -> None:
    root = make_superuser()
    assert roles_of(root, acme) == frozenset()
    assert access_in(root, acme).permissions == frozenset()
    assert list(tenants_of(root)) == [acme]


def test_a_superuser_stays_in_the_tenant_they_act_in(acme: Tenant, globex: Tenant) -> None:
    root = make_superuser()
    own, foreign = make_agent(acme), make_agent(globex)
    assert acting(root, acme).has_perm(VIEW_AGENT)
    assert acting(root, acme).has_perm(VIEW_AGENT, own)
    assert not acting(root, acme).has_perm(VIEW_AGENT, foreign)
    assert not acting(root, acme).has_perm("identity.view_tenant", globex)
    assert not acting(root, None).has_perm(VIEW_AGENT, own)


def test_permissions_are_read_in_one_statement_and_once(
    acme: Tenant, django_assert_num_queries: object
) -> None:
    user = acting(make_member(acme, "platform_admin", "operator"), acme)
    with django_assert_num_queries(1):  # type: ignore[operator]
        for _ in range(3):
            assert user.has_perm(VIEW_AGENT)


# --- signing in ---------------------------------------------------------------------------------
def test_the_right_password_of_a_member_signs_in(acme: Tenant, rf: object) -> None:
    user = make_member(acme, "operator")
    backend = MembershipBackend()
    assert backend.authenticate(None, username=user.username, password=PASSWORD) == user
    assert backend.authenticate(None, username=user.username, password="wrong") is None
    assert backend.authenticate(None, username=user.username, password=None) is None
    assert backend.authenticate(None) is None


def test_an_unknown_name_costs_one_password_hash_too(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str | None] = []
    monkeypatch.setattr(User, "set_password", lambda self, raw: hashed.append(raw))
    assert MembershipBackend().authenticate(None, username="nobody", password="guess") is None
    assert hashed == ["guess"]


def test_who_has_no_current_membership_can_not_sign_in(acme: Tenant) -> None:
    user = make_user()
    backend = MembershipBackend()
    assert backend.authenticate(None, username=user.username, password=PASSWORD) is None
    assert backend.get_user(user.pk) is None
    membership = grant(user, acme, "operator")
    assert backend.get_user(user.pk) == user
    services.revoke_role(membership_id=membership.pk, actor=SYSTEM)
    assert backend.get_user(user.pk) is None


def test_a_superuser_signs_in_without_membership(db: None) -> None:
    root = make_superuser()
    backend = MembershipBackend()
    assert backend.authenticate(None, username=root.username, password=PASSWORD) == root


def test_the_configured_backends_sign_in_through_ours(acme: Tenant, rf: object) -> None:
    user = make_member(acme, "operator")
    request = rf.post("/admin/login/")  # type: ignore[attr-defined]
    found = authenticate(request, username=user.username, password=PASSWORD)
    assert found == user
    assert found.backend == "contextos.identity.backends.MembershipBackend"
