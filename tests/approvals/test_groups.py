"""Approver groups: who makes them, who is put in, and where their names do not show."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from approvals.models import ApproverGroup
from approvals.selectors import group_sizes, groups_of, people_in
from approvals.services import groups
from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.identity import services as identity
from contextos.identity.actors import person
from contextos.identity.models import Tenant
from contextos.identity.roles import ROLES, sync_roles
from tests.factories import SYSTEM, actor_for, make_member, make_superuser, make_tenant
from tests.identity.signed_in import browser_of


def make_group(tenant: Tenant, name: str = "finance") -> ApproverGroup:
    return groups.create_group(tenant_id=tenant.pk, name=name, title=name.title(), actor=SYSTEM)


@pytest.fixture
def group(acme: Tenant) -> ApproverGroup:
    return make_group(acme)


@pytest.mark.parametrize("name", ["", "Finance", "a b", "1st", "x" * 101, "a:b", "ärger"])
def test_a_name_that_can_not_be_written_plainly_is_refused(acme: Tenant, name: str) -> None:
    with pytest.raises(ContextOSError, match="can't be made"):
        make_group(acme, name)


def test_a_name_is_taken_once_per_tenant(acme: Tenant, globex: Tenant) -> None:
    make_group(acme)
    with pytest.raises(ContextOSError, match="exists already"):
        make_group(acme)
    assert make_group(globex).tenant_id == globex.pk


def test_members_are_counted_found_and_recorded(acme: Tenant, group: ApproverGroup) -> None:
    user, admin = make_member(acme, "finance_approver"), make_member(acme, "platform_admin")
    groups.add_person(group=group, user=user, actor=actor_for(admin, acme))
    assert group_sizes(acme.pk) == {"finance": 1}
    assert groups_of(user, acme.pk) == {"finance"}
    assert list(people_in(acme.pk, frozenset({"finance"}))) == [user]
    groups.remove_person(group=group, user=user, actor=actor_for(admin, acme))
    groups.remove_person(group=group, user=user, actor=actor_for(admin, acme))
    assert group_sizes(acme.pk) == {"finance": 0}
    told = AuditEvent.objects.filter(tenant_id=acme.pk, subject_kind="approver_group")
    words = [action.split(".")[1] for action in told.values_list("action", flat=True)]
    assert sorted(words) == ["created", "joined", "left"]


def test_a_person_who_was_switched_off_is_counted_no_more(
    acme: Tenant, group: ApproverGroup
) -> None:
    user = make_member(acme, "finance_approver")
    groups.add_person(group=group, user=user, actor=SYSTEM)
    identity.deactivate_user(user_id=user.user_id, actor=SYSTEM, reason="Left.")
    assert group_sizes(acme.pk) == {"finance": 0}


@pytest.mark.proves("D3")
def test_nobody_puts_themselves_into_a_group(acme: Tenant, group: ApproverGroup) -> None:
    admin = make_member(acme, "platform_admin", "finance_approver")
    for tenant_id in (acme.pk, None):  # None: somebody who runs the installation
        with pytest.raises(ContextOSError, match="themselves"):
            groups.add_person(group=group, user=admin, actor=person(admin, tenant_id))
    assert group_sizes(acme.pk) == {"finance": 0}


def test_strangers_to_the_tenant_are_kept_out(
    acme: Tenant, globex: Tenant, group: ApproverGroup
) -> None:
    stranger = make_member(globex, "finance_approver")
    with pytest.raises(ContextOSError, match="no member"):
        groups.add_person(group=group, user=stranger, actor=SYSTEM)
    admin = make_member(globex, "platform_admin")
    with pytest.raises(ContextOSError) as refused:
        groups.add_person(
            group=group,
            user=make_member(acme, "finance_approver"),
            actor=actor_for(admin, globex),
        )
    assert refused.value.code == "tenant.forbidden"


# --- they are no roles ---------------------------------------------------------------------------
@pytest.mark.parametrize("who", ["platform_admin", "auditor", "superuser"])
def test_no_approver_group_shows_among_the_roles(acme: Tenant, globex: Tenant, who: str) -> None:
    own, foreign = make_group(acme, "ownmarker"), make_group(globex, "foreignmarker")
    user = make_superuser() if who == "superuser" else make_member(acme, who)
    browser = browser_of(user, acme)
    for query in ({}, {"q": "marker"}, {"all": ""}):
        answer = browser.get(reverse("admin:auth_group_changelist"), query)
        assert answer.status_code == 200
        assert "gate:" not in answer.text
        names = {row.name for row in answer.context["cl"].result_list}
        assert names <= set(ROLES)
    for group in (own.group, foreign.group):
        answer = browser.get(reverse("admin:auth_group_change", args=[group.pk]))
        assert answer.status_code in (302, 404)
        assert "gate:" not in answer.text


def test_no_approver_group_can_be_given_as_a_role(acme: Tenant, globex: Tenant) -> None:
    group = make_group(globex, "foreignmarker").group
    browser = browser_of(make_member(acme, "platform_admin"), acme)
    for page in ("identity_membership_add", "identity_user_add"):
        answer = browser.get(reverse(f"admin:{page}"))
        assert answer.status_code == 200
        assert "foreignmarker" not in answer.text
        assert f'<option value="{group.pk}"' not in answer.text
    user = make_member(acme, "operator")
    browser.post(
        reverse("admin:identity_membership_add"), {"user": user.pk, "role": group.pk}, follow=True
    )
    assert not user.memberships.filter(role=group).exists()
    with pytest.raises(ContextOSError) as refused:
        identity.grant_role(user=user, tenant_id=acme.pk, role=group.name, actor=SYSTEM)
    assert refused.value.code == "role.unknown"


def test_writing_the_roles_anew_leaves_approver_groups_alone(
    acme: Tenant, group: ApproverGroup
) -> None:
    user = make_member(acme, "finance_approver")
    groups.add_person(group=group, user=user, actor=SYSTEM)
    sync_roles()
    behind = Group.objects.get(pk=group.group_id)
    assert behind.permissions.count() == 0
    assert list(behind.user_set.all()) == [user]


def test_a_group_confers_no_permission_by_itself(acme: Tenant, group: ApproverGroup) -> None:
    user = make_member(make_tenant("tenant_elsewhere"), "operator")
    group.group.user_set.add(user)
    assert not user.get_all_permissions()
