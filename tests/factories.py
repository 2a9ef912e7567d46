"""Rows for tests, made through the services, so that they look like real ones.

The factories say what a row is when a test says nothing; the functions beside them are how tests
ask, and add what belongs to it (an owner, a role, an access).
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

import factory
from django.utils import timezone

from audit.models import AuditorAccess
from contextos.core.events import Actor, automation
from contextos.core.ids import new_id
from contextos.identity import services
from contextos.identity.actors import person
from contextos.identity.models import Agent, Membership, Tenant, TrustedIssuer, User
from contextos.identity.services import IssuedGrant

SYSTEM: Actor = automation("tests")
PASSWORD = "correct horse battery staple"

_numbers = count(1)


def _numbered(text: str) -> Any:
    return factory.LazyFunction(lambda: text.format(next(_numbers)))


class TenantFactory(factory.Factory):  # type: ignore[misc]  # the library says no types
    """A tenant with its default environment."""

    class Meta:
        model = Tenant

    tenant_id = _numbered("tenant_{}")
    name = factory.LazyAttribute(lambda made: made.tenant_id.title())

    @classmethod
    def _create(cls, model_class: Any, **fields: Any) -> Tenant:
        return services.create_tenant(actor=SYSTEM, **fields)


class UserFactory(factory.Factory):  # type: ignore[misc]
    """A person without a role."""

    class Meta:
        model = User

    username = _numbered("person{}")
    password = PASSWORD

    @classmethod
    def _create(cls, model_class: Any, **fields: Any) -> User:
        return services.create_user(actor=SYSTEM, **fields)


class AgentFactory(factory.Factory):  # type: ignore[misc]
    """An active agent."""

    class Meta:
        model = Agent

    agent_id = _numbered("agent_{}")
    name = factory.LazyAttribute(lambda made: made.agent_id.replace("_", " ").title())
    role = "support_agent"

    @classmethod
    def _create(cls, model_class: Any, **fields: Any) -> Agent:
        return services.register_agent(actor=SYSTEM, **fields)


class TrustedIssuerFactory(factory.Factory):  # type: ignore[misc]
    """An outside issuer with a JWKS address."""

    class Meta:
        model = TrustedIssuer

    class Params:
        number = factory.LazyFunction(lambda: next(_numbers))

    name = factory.LazyAttribute(lambda made: f"Issuer {made.number}")
    issuer = factory.LazyAttribute(lambda made: f"https://issuer{made.number}.example.test")
    audience = "contextos-tests"
    subject_kind = "agent"
    algorithms = factory.LazyFunction(lambda: ["EdDSA"])
    jwks_url = factory.LazyAttribute(
        lambda made: f"https://issuer{made.number}.example.test/jwks.json"
    )

    @classmethod
    def _create(cls, model_class: Any, **fields: Any) -> TrustedIssuer:
        return services.trust_issuer(actor=SYSTEM, **fields)


def _made(kind: Any, **fields: Any) -> Any:
    """What a test leaves out, or says is None, is the factory's."""
    return kind.create(**{name: value for name, value in fields.items() if value is not None})


def make_tenant(tenant_id: str | None = None, **fields: Any) -> Tenant:
    """A tenant with its default environment."""
    tenant: Tenant = _made(TenantFactory, tenant_id=tenant_id, **fields)
    return tenant


def make_user(username: str | None = None, **fields: Any) -> User:
    """A person without a role; the password is PASSWORD unless given."""
    user: User = _made(UserFactory, username=username, **fields)
    return user


def make_member(
    tenant: Tenant, *roles: str, username: str | None = None, access: bool = True
) -> User:
    """A person who holds the roles in a tenant; an auditor with an access to all of it."""
    user = make_user(username)
    for role in roles:
        grant(user, tenant, role)
    if access and "auditor" in roles:
        let_audit(user, tenant)
    return user


def let_audit(user: User, tenant: Tenant) -> AuditorAccess:
    """To every period for 30 days, up to what calls were given; as if it had long been granted."""
    now = timezone.now()
    return AuditorAccess.objects.create(
        access_id=new_id("acs"),
        tenant=tenant,
        user=user,
        starts_at=now - timedelta(days=1),
        ends_at=now + timedelta(days=30),
        clearance="CONFIDENTIAL",
        granted_by=SYSTEM.id,
        reason="Tests",
        created_at=now - timedelta(days=1),
    )


def grant(user: User, tenant: Tenant, role: str, **term: Any) -> Membership:
    """A role in a tenant; an auditor's ends in 30 days unless told otherwise."""
    if role == "auditor":
        term.setdefault("valid_until", timezone.now() + timedelta(days=30))
    return services.grant_role(user=user, tenant_id=tenant.pk, role=role, actor=SYSTEM, **term)


def make_superuser(username: str | None = None) -> User:
    """Somebody who runs the installation and belongs to no tenant."""
    name = username or f"root{next(_numbers)}"
    return User.objects.create_superuser(name, f"{name}@example.test", PASSWORD)


def make_agent(tenant: Tenant, agent_id: str | None = None, **fields: Any) -> Agent:
    """An active agent with an owner in its tenant."""
    owner = fields.pop("owner", None) or make_member(tenant, "operator")
    agent: Agent = _made(
        AgentFactory, tenant_id=tenant.pk, agent_id=agent_id, owner=owner, **fields
    )
    return agent


def make_agent_token(agent: Agent, **terms: Any) -> IssuedGrant:
    """A token of an agent."""
    return services.issue_agent_token(
        tenant_id=agent.tenant_id, agent_id=agent.agent_id, actor=SYSTEM, **terms
    )


def make_user_token(user: User, tenant: Tenant, **terms: Any) -> IssuedGrant:
    """A token of a person in one tenant."""
    return services.issue_user_token(tenant_id=tenant.pk, user=user, actor=SYSTEM, **terms)


def make_issuer(tenant: Tenant, **fields: Any) -> TrustedIssuer:
    """An outside issuer with a JWKS address."""
    issuer: TrustedIssuer = _made(TrustedIssuerFactory, tenant_id=tenant.pk, **fields)
    return issuer


def acting(user: User, tenant: Tenant | None) -> User:
    """The person as a request sees them: freshly loaded and bound to a tenant."""
    fresh = User.objects.get(pk=user.pk)
    fresh.acting_tenant_id = tenant.pk if tenant else None
    return fresh


def actor_for(user: User, tenant: Tenant) -> Actor:
    """The person as an actor of a tenant."""
    return person(user, tenant.pk)
