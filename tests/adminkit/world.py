"""People, tenants and second factors for tests of the admin, made by the real services."""

from __future__ import annotations

import secrets
import time
from base64 import b32decode
from datetime import timedelta

from django.test import Client
from django.utils import timezone
from django_otp import DEVICE_ID_SESSION_KEY
from django_otp.oath import totp

from contextos.core.events import automation
from contextos.identity.models import Agent, Tenant, TotpDevice, User
from contextos.identity.services import create_tenant, create_user, grant_role, register_agent

TESTER = automation("tests")
PASSWORD = "a long enough passphrase"


def make_tenant(tenant_id: str = "tenant_acme", name: str = "Acme") -> Tenant:
    """A tenant, once."""
    known = Tenant.objects.filter(pk=tenant_id).first()
    return known or create_tenant(tenant_id=tenant_id, name=name, actor=TESTER)


def make_person(username: str, tenant: Tenant, *roles: str) -> User:
    """A person who can sign in; auditors get the end date they need."""
    user = User.objects.filter(username=username).first() or create_user(
        username=username, actor=TESTER, tenant_id=tenant.pk, password=PASSWORD
    )
    for role in roles:
        until = timezone.now() + timedelta(days=30) if role == "auditor" else None
        grant_role(user=user, tenant_id=tenant.pk, role=role, actor=TESTER, valid_until=until)
    return user


def make_superuser(username: str = "root") -> User:
    """Somebody who runs the installation."""
    return User.objects.create_superuser(username, f"{username}@acme.example", PASSWORD)


def make_agent(tenant: Tenant, agent_id: str, owner: User | None = None) -> Agent:
    """An agent of a tenant."""
    name = f"owner_of_{tenant.pk}"
    known = owner or User.objects.filter(username=name).first()
    person = known or make_person(name, tenant, "operator")
    return register_agent(
        tenant_id=tenant.pk,
        agent_id=agent_id,
        name=f"Agent {agent_id}",
        role="support_agent",
        owner=person,
        actor=TESTER,
    )


def give_factor(user: User) -> bytes:
    """A confirmed authenticator app; returns its secret."""
    secret = secrets.token_bytes(20)
    device = TotpDevice(user=user, name="test", confirmed=True)
    device.set_secret(secret)
    device.save()
    return secret


def code_at(secret: bytes, *, steps_from_now: int = 0) -> str:
    """The code an app with this secret shows, or will show."""
    return f"{totp(secret, t0=int(-steps_from_now * 30)):06d}"


def secret_of(base32: str) -> bytes:
    """A secret as an app reads it from the page."""
    return b32decode(base32 + "=" * (-len(base32) % 8))


def signed_in(user: User, *, tenant: Tenant | None = None) -> Client:
    """A browser of a person with password and second factor behind them."""
    client = Client()
    client.force_login(user, backend="contextos.identity.backends.MembershipBackend")
    if not TotpDevice.objects.filter(user=user, confirmed=True).exists():
        give_factor(user)
    device = TotpDevice.objects.get(user=user, confirmed=True)
    session = client.session
    session[DEVICE_ID_SESSION_KEY] = device.persistent_id
    if tenant is not None:
        session["acting_tenant_id"] = tenant.pk
    session.save()
    return client


def password_only(username: str) -> Client:
    """A browser that gave the password and not yet the second factor."""
    client = Client()
    client.post("/admin/login/", {"username": username, "password": PASSWORD})
    if "_auth_user_id" not in client.session:
        raise AssertionError(f"{username} could not sign in")
    return client


def wrong_code(secret: bytes) -> str:
    """Six digits that are no valid code around now."""
    valid = {code_at(secret, steps_from_now=step) for step in range(-3, 4)}
    start = int(time.time()) % 1_000_000
    candidates = (f"{(start + n) % 1_000_000:06d}" for n in range(1, 20))
    return next(code for code in candidates if code not in valid)
