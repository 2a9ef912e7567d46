"""Granting, bounding and revoking roles."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from contextos.core.errors import ContextOSError
from contextos.identity import services
from contextos.identity.access import roles_of
from contextos.identity.models import Membership, Tenant
from tests.factories import SYSTEM, actor_for, grant, make_member, make_superuser, make_user


def refusal(**grant_terms: object) -> str:
    with pytest.raises(ContextOSError) as refused:
        services.grant_role(**grant_terms)  # type: ignore[arg-type]
    return refused.value.code


def test_an_auditor_needs_an_end_date(acme: Tenant) -> None:
    user = make_user()
    terms = {"user": user, "tenant_id": acme.pk, "role": "auditor", "actor": SYSTEM}
    assert refusal(**terms) == "role.end_date_needed"
    membership = grant(user, acme, "auditor", valid_until=timezone.now() + timedelta(days=1))
    with pytest.raises(ContextOSError):
        services.change_role_term(
            membership_id=membership.pk, valid_from=None, valid_until=None, actor=SYSTEM
        )


def test_nobody_gives_themselves_a_role(acme: Tenant) -> None:
    boss = make_member(acme, "platform_admin")
    terms = {"user": boss, "tenant_id": acme.pk, "role": "finance_approver"}
    assert refusal(**terms, actor=actor_for(boss, acme)) == "role.self_grant"
    assert roles_of(boss, acme) == {"platform_admin"}


@pytest.mark.proves("D3")
def test_a_superuser_can_not_make_themselves_an_approver(acme: Tenant) -> None:
    root = make_superuser()
    actor = actor_for(root, acme)
    terms = {"user": root, "tenant_id": acme.pk, "role": "finance_approver", "actor": actor}
    assert refusal(**terms) == "role.self_grant"


def test_nobody_prolongs_their_own_role(acme: Tenant) -> None:
    boss = make_user()
    membership = grant(boss, acme, "auditor")
    with pytest.raises(ContextOSError) as refused:
        services.change_role_term(
            membership_id=membership.pk,
            valid_from=None,
            valid_until=timezone.now() + timedelta(days=900),
            actor=actor_for(boss, acme),
        )
    assert refused.value.code == "role.self_grant"


def test_an_unknown_role_is_refused(acme: Tenant) -> None:
    terms = {"user": make_user(), "tenant_id": acme.pk, "role": "superhero", "actor": SYSTEM}
    assert refusal(**terms) == "role.unknown"


def test_a_role_held_already_is_not_granted_twice(acme: Tenant) -> None:
    user = make_member(acme, "operator")
    terms = {"user": user, "tenant_id": acme.pk, "role": "operator", "actor": SYSTEM}
    assert refusal(**terms) == "role.already_held"


def test_a_role_that_has_ended_can_be_granted_again(acme: Tenant) -> None:
    user = make_user()
    ended = grant(user, acme, "operator", valid_until=timezone.now() - timedelta(days=1))
    assert grant(user, acme, "operator").pk == ended.pk
    assert roles_of(user, acme) == {"operator"}


def test_a_term_that_ends_before_it_begins_is_refused(acme: Tenant) -> None:
    now = timezone.now()
    with pytest.raises(ValidationError):
        grant(make_user(), acme, "operator", valid_from=now, valid_until=now - timedelta(days=1))
    membership = grant(make_user(), acme, "operator", valid_from=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.filter(pk=membership.pk).update(valid_until=now - timedelta(days=1))


def test_revoking_takes_effect_at_once(acme: Tenant) -> None:
    user = make_user()
    membership = grant(user, acme, "operator")
    services.revoke_role(membership_id=membership.pk, actor=SYSTEM, reason="moved on")
    assert roles_of(user, acme) == frozenset()
    with pytest.raises(ContextOSError) as refused:
        services.revoke_role(membership_id=membership.pk, actor=SYSTEM)
    assert refused.value.code == "request.not_found"
