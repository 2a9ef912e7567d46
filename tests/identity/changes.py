"""Every service that changes identity, each as something to try: prepared first, then done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from contextos.core.events import Actor
from contextos.identity import services
from contextos.identity.models import Tenant
from tests.factories import (
    grant,
    make_agent,
    make_agent_token,
    make_issuer,
    make_member,
    make_user,
)

Attempt = Callable[[Actor], Any]


@dataclass(frozen=True)
class Change:
    """`prepare` makes the rows it needs and returns the attempt; the log names it `action`."""

    name: str
    action: str
    prepare: Callable[[Tenant], Attempt]


def _agent(change: Callable[..., Any], **values: Any) -> Callable[[Tenant], Attempt]:
    def prepare(tenant: Tenant) -> Attempt:
        agent = make_agent(tenant)
        return lambda actor: change(agent_pk=agent.pk, actor=actor, **values)

    return prepare


def _renamed_agent(tenant: Tenant) -> Attempt:
    agent = make_agent(tenant)
    return lambda actor: services.update_agent(
        agent_pk=agent.pk,
        actor=actor,
        name="Renamed",
        role=agent.role,
        owner=agent.owner,
        max_mode="network",
        agent_urn="",
        workload_identity="",
    )


def _new_agent(tenant: Tenant) -> Attempt:
    owner = make_member(tenant, "operator")
    return lambda actor: services.register_agent(
        tenant_id=tenant.pk,
        agent_id="fresh_agent",
        name="Fresh",
        role="support_agent",
        owner=owner,
        actor=actor,
    )


def _person(change: Callable[..., Any], **values: Any) -> Callable[[Tenant], Attempt]:
    def prepare(tenant: Tenant) -> Attempt:
        user = make_member(tenant, "operator")
        return lambda actor: change(user_id=user.user_id, actor=actor, **values)

    return prepare


def _let_in(tenant: Tenant) -> Attempt:
    user = make_member(tenant, "operator")
    type(user).objects.filter(pk=user.pk).update(is_active=False)
    return lambda actor: services.activate_user(user_id=user.user_id, actor=actor)


def _granted(tenant: Tenant) -> Attempt:
    user = make_user()
    return lambda actor: services.grant_role(
        user=user, tenant_id=tenant.pk, role="operator", actor=actor
    )


def _membership(change: Callable[..., Any], **values: Any) -> Callable[[Tenant], Attempt]:
    def prepare(tenant: Tenant) -> Attempt:
        membership = grant(make_user(), tenant, "operator")
        return lambda actor: change(membership_id=membership.pk, actor=actor, **values)

    return prepare


def _issuer(change: Callable[..., Any], **values: Any) -> Callable[[Tenant], Attempt]:
    def prepare(tenant: Tenant) -> Attempt:
        issuer = make_issuer(tenant)
        return lambda actor: change(issuer_pk=issuer.pk, actor=actor, **values)

    return prepare


def _agent_token(tenant: Tenant) -> Attempt:
    agent = make_agent(tenant)
    return lambda actor: services.issue_agent_token(
        tenant_id=tenant.pk, agent_id=agent.agent_id, actor=actor
    )


def _user_token(tenant: Tenant) -> Attempt:
    user = make_member(tenant, "operator")
    return lambda actor: services.issue_user_token(tenant_id=tenant.pk, user=user, actor=actor)


def _revoked(tenant: Tenant) -> Attempt:
    row = make_agent_token(make_agent(tenant)).row
    return lambda actor: services.revoke_token(token_id=row.pk, actor=actor, reason="leaked")


def _environment_off(tenant: Tenant) -> Attempt:
    environment = tenant.environments.get()
    return lambda actor: services.set_environment_active(
        environment_id=environment.pk, active=False, actor=actor
    )


_ISSUER = {
    "issuer": "https://id.example.test",
    "audience": "contextos",
    "subject_kind": "agent",
    "algorithms": ["ES256"],
    "jwks_url": "https://id.example.test/jwks",
}
_TERMS = {"audience": "other", "algorithms": ["RS256"], "jwks_url": "https://id.example.test/new"}

CHANGES = (
    Change(
        "update_tenant",
        "identity.tenant.changed",
        lambda t: (
            lambda a: services.update_tenant(
                tenant_id=t.pk, actor=a, name="Renamed", default_environment="staging"
            )
        ),
    ),
    Change(
        "set_run_limits",
        "identity.tenant.run_limits_set",
        lambda t: (
            lambda a: services.set_run_limits(tenant_id=t.pk, actor=a, limits={"run_max_calls": 7})
        ),
    ),
    Change(
        "set_tenant_active",
        "identity.tenant.deactivated",
        lambda t: lambda a: services.set_tenant_active(tenant_id=t.pk, active=False, actor=a),
    ),
    Change(
        "add_environment",
        "identity.environment.added",
        lambda t: lambda a: services.add_environment(tenant_id=t.pk, name="staging", actor=a),
    ),
    Change("set_environment_active", "identity.environment.deactivated", _environment_off),
    Change(
        "create_user",
        "identity.user.created",
        lambda t: lambda a: services.create_user(username="fresh", tenant_id=t.pk, actor=a),
    ),
    Change(
        "update_user",
        "identity.user.changed",
        _person(services.update_user, email="a@b.test", first_name="A", last_name="B"),
    ),
    Change(
        "set_password",
        "identity.user.password_set",
        _person(services.set_password, password="another long passphrase"),
    ),
    Change(
        "deactivate_user",
        "identity.user.deactivated",
        _person(services.deactivate_user, reason="left"),
    ),
    Change("activate_user", "identity.user.activated", _let_in),
    Change("end_sessions", "identity.user.sessions_ended", _person(services.end_sessions)),
    Change("grant_role", "identity.role.granted", _granted),
    Change(
        "change_role_term",
        "identity.role.changed",
        _membership(
            services.change_role_term,
            valid_from=None,
            valid_until=timezone.now() + timedelta(days=9),
        ),
    ),
    Change("revoke_role", "identity.role.revoked", _membership(services.revoke_role)),
    Change("register_agent", "identity.agent.registered", _new_agent),
    Change("update_agent", "identity.agent.changed", _renamed_agent),
    Change(
        "set_agent_active",
        "identity.agent.deactivated",
        _agent(services.set_agent_active, active=False),
    ),
    Change(
        "trust_issuer",
        "identity.issuer.trusted",
        lambda t: lambda a: services.trust_issuer(tenant_id=t.pk, name="I", actor=a, **_ISSUER),  # type: ignore[arg-type]
    ),
    Change(
        "update_issuer",
        "identity.issuer.changed",
        _issuer(services.update_issuer, name="I", **_TERMS),
    ),
    Change(
        "set_issuer_active",
        "identity.issuer.deactivated",
        _issuer(services.set_issuer_active, active=False),
    ),
    Change("issue_agent_token", "identity.token.issued", _agent_token),
    Change("issue_user_token", "identity.token.issued", _user_token),
    Change("revoke_token", "identity.token.revoked", _revoked),
)
