"""Who lives in the demo world, and their sign-ins."""

from __future__ import annotations

import json
import secrets
from base64 import b32decode, b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from contextos.core.events import Actor
from contextos.demo.ready_file import write_private
from contextos.identity.models import TotpDevice, User
from contextos.identity.second_factor import confirmed_device
from contextos.identity.services.memberships import grant_role
from contextos.identity.services.people import create_user

AUDIT_WINDOW = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Resident:
    """One demo person."""

    username: str
    first_name: str
    last_name: str
    role: str
    superuser: bool = False


RESIDENTS = (
    Resident("admin", "Asha", "Rao", "platform_admin", superuser=True),
    Resident("author", "Anton", "Weiss", "manifest_author"),
    Resident("reviewer", "Rina", "Sato", "manifest_reviewer"),
    Resident("reviewer2", "Ravi", "Nair", "manifest_reviewer"),
    Resident("fin1", "Fiona", "Clarke", "finance_approver"),
    Resident("fin2", "Farid", "Haddad", "finance_approver"),
    Resident("auditor", "Aude", "Martin", "auditor"),
    Resident("operator", "Omar", "Diallo", "operator"),
    Resident("support", "Sana", "Iyer", "service"),
)
SignIns = Mapping[str, Mapping[str, str]]


def load_or_make_sign_ins(path: Path) -> SignIns:
    """Passwords and second-factor secrets, random per installation and kept for the next start."""
    kept: dict[str, dict[str, str]] = {}
    if path.exists():
        kept = json.JSONDecoder().decode(path.read_text(encoding="utf-8"))
    missing = [r.username for r in RESIDENTS if r.username not in kept]
    if missing:
        kept |= {name: _new_sign_in() for name in missing}
        write_private(path, kept)
    return kept


def _new_sign_in() -> dict[str, str]:
    secret = b32encode(secrets.token_bytes(20)).decode("ascii")
    return {"password": secrets.token_urlsafe(12), "otp_secret": secret}


@transaction.atomic
def settle(resident: Resident, sign_in: Mapping[str, str], *, tenant_id: str, actor: Actor) -> User:
    """Make one person with role and second factor; somebody already there is left alone."""
    user = User.objects.filter(username=resident.username).first()
    if user is None:
        user = _create(resident, sign_in["password"], tenant_id, actor)
        until = timezone.now() + AUDIT_WINDOW if resident.role == "auditor" else None
        grant_role(
            user=user, tenant_id=tenant_id, role=resident.role, actor=actor, valid_until=until
        )
    if confirmed_device(user) is None:
        _give_known_factor(user, sign_in["otp_secret"])
    return user


def _create(resident: Resident, password: str, tenant_id: str, actor: Actor) -> User:
    email = f"{resident.username}@acme.example"
    if resident.superuser:
        return User.objects.create_superuser(
            resident.username,
            email,
            password,
            first_name=resident.first_name,
            last_name=resident.last_name,
        )
    return create_user(
        username=resident.username,
        actor=actor,
        tenant_id=tenant_id,
        email=email,
        first_name=resident.first_name,
        last_name=resident.last_name,
        password=password,
    )


def _give_known_factor(user: User, base32_secret: str) -> None:
    """The demo prints the secret, so that scripts can sign in; people enrol their own app."""
    TotpDevice.objects.filter(user=user).delete()
    device = TotpDevice(user=user, name="Demo authenticator", confirmed=True)
    device.set_secret(b32decode(base32_secret))
    device.save()
