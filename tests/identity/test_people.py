"""Accounts: who may manage whom, and what locking out ends."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.identity import services
from contextos.identity.models import IssuedToken, Tenant, User
from tests.factories import (
    PASSWORD,
    SYSTEM,
    actor_for,
    grant,
    make_member,
    make_superuser,
    make_user,
    make_user_token,
)
from tests.identity.signed_in import browser_of


def test_an_account_that_reaches_further_is_not_this_tenants_to_manage(
    acme: Tenant, globex: Tenant
) -> None:
    boss = make_member(acme, "platform_admin")
    shared = make_member(acme, "operator")
    grant(shared, globex, "platform_admin")
    with pytest.raises(ContextOSError) as refused:
        services.set_password(
            user_id=shared.user_id, password="taken over entirely", actor=actor_for(boss, acme)
        )
    assert refused.value.code == "person.beyond_tenant"
    assert User.objects.get(pk=shared.pk).check_password(PASSWORD)


def test_a_superuser_is_nobodys_to_manage(acme: Tenant) -> None:
    boss, root = make_member(acme, "platform_admin"), make_superuser()
    grant(root, acme, "operator")
    with pytest.raises(ContextOSError) as refused:
        services.deactivate_user(user_id=root.user_id, actor=actor_for(boss, acme), reason="x")
    assert refused.value.code == "person.beyond_tenant"


def test_people_of_other_tenants_are_not_there(acme: Tenant) -> None:
    boss, stranger = make_member(acme, "platform_admin"), make_user()
    with pytest.raises(ContextOSError) as refused:
        services.end_sessions(user_id=stranger.user_id, actor=actor_for(boss, acme))
    assert refused.value.code == "request.not_found"


def test_locking_out_ends_sessions_and_tokens(acme: Tenant) -> None:
    user = make_member(acme, "operator")
    browser, token = browser_of(user), make_user_token(user, acme)
    assert browser.get("/admin/").status_code == 200
    services.deactivate_user(user_id=user.user_id, actor=SYSTEM, reason="left the company")
    assert browser.get("/admin/").status_code == 302
    row = IssuedToken.objects.get(pk=token.row.pk)
    assert (row.state, row.revoke_reason) == ("revoked", "left the company")
    services.activate_user(user_id=user.user_id, actor=SYSTEM)
    assert browser.get("/admin/").status_code == 302, "an old session must not come back to life"


def test_signing_out_everywhere_ends_every_session(acme: Tenant) -> None:
    user = make_member(acme, "operator")
    browsers = [browser_of(user), browser_of(user)]
    services.end_sessions(user_id=user.user_id, actor=SYSTEM)
    assert [browser.get("/admin/").status_code for browser in browsers] == [302, 302]
    assert browser_of(User.objects.get(pk=user.pk)).get("/admin/").status_code == 200


def test_what_is_done_to_a_person_stands_in_each_of_their_tenants(
    acme: Tenant, globex: Tenant
) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "operator")
    services.end_sessions(user_id=user.user_id, actor=SYSTEM)
    events = AuditEvent.objects.filter(action="identity.user.sessions_ended")
    assert {event.tenant_id for event in events} == {acme.pk, globex.pk}


@pytest.mark.parametrize("password", ["short", "password1234", "123456789012"])
def test_weak_passwords_are_refused(acme: Tenant, password: str) -> None:
    user = make_member(acme, "operator")
    with pytest.raises(ValidationError):
        services.set_password(user_id=user.user_id, password=password, actor=SYSTEM)
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_passwords_never_reach_the_log(acme: Tenant) -> None:
    user = make_member(acme, "operator")
    services.set_password(user_id=user.user_id, password="a very secret phrase", actor=SYSTEM)
    assert not AuditEvent.objects.filter(text__contains="secret phrase").exists()
    assert not AuditEvent.objects.filter(text__contains=PASSWORD).exists()


def test_a_person_without_a_password_can_not_sign_in(db: None) -> None:
    user = services.create_user(username="later", actor=SYSTEM)
    assert not user.has_usable_password()


def test_two_people_can_not_share_a_user_name(acme: Tenant) -> None:
    make_user("asha")
    with pytest.raises(ValidationError):
        make_user("asha")
