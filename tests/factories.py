"""Rows for tests, made through the services, so that they look like real ones."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

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


def make_tenant(tenant_id: str | None = None, **fields: Any) -> Tenant:
    """A tenant with its default environment."""
    chosen = tenant_id or f"tenant_{next(_numbers)}"
    return services.create_tenant(
        tenant_id=chosen, name=fields.pop("name", chosen.title()), actor=SYSTEM, **fields
    )


def make_user(username: str | None = None, **fields: Any) -> User:
    """A person without a role; the password is PASSWORD unless given."""
    return services.create_user(
        username=username or f"person{next(_numbers)}",
        actor=SYSTEM,
        password=fields.pop("password", PASSWORD),
        **fields,
    )


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
    chosen = agent_id or f"agent_{next(_numbers)}"
    owner = fields.pop("owner", None) or make_member(tenant, "operator")
    return services.register_agent(
        tenant_id=tenant.pk,
        agent_id=chosen,
        name=fields.pop("name", chosen.replace("_", " ").title()),
        role=fields.pop("role", "support_agent"),
        owner=owner,
        actor=SYSTEM,
        **fields,
    )


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
    number = next(_numbers)
    values: dict[str, Any] = {
        "name": f"Issuer {number}",
        "issuer": f"https://issuer{number}.example.test",
        "audience": "contextos-tests",
        "subject_kind": "agent",
        "algorithms": ["EdDSA"],
        "jwks_url": f"https://issuer{number}.example.test/jwks.json",
    }
    return services.trust_issuer(tenant_id=tenant.pk, actor=SYSTEM, **(values | fields))


def acting(user: User, tenant: Tenant | None) -> User:
    """The person as a request sees them: freshly loaded and bound to a tenant."""
    fresh = User.objects.get(pk=user.pk)
    fresh.acting_tenant_id = tenant.pk if tenant else None
    return fresh


def actor_for(user: User, tenant: Tenant) -> Actor:
    """The person as an actor of a tenant."""
    return person(user, tenant.pk)
