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

from audit.accesses import Terms, grant_access
from audit.clearance import Clearance
from contextos.core.events import Actor
from contextos.demo.ready_file import write_private
from contextos.identity.models import TotpDevice, User
from contextos.identity.roles import AUDITOR
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
    does: str
    superuser: bool = False

    @property
    def full_name(self) -> str:
        """As people say it."""
        return f"{self.first_name} {self.last_name}"


_SETS_UP = "sets up people, agents and gates, and publishes"
_REVIEWS = "reads what others wrote, and approves or rejects it"
_DECIDES = "decides in the approvals queue whether money leaves"
RESIDENTS = (
    Resident("admin", "Asha", "Rao", "platform_admin", _SETS_UP, superuser=True),
    Resident("author", "Anton", "Weiss", "manifest_author", "writes adapters, policies, gates"),
    Resident("reviewer", "Rina", "Sato", "manifest_reviewer", _REVIEWS),
    Resident("reviewer2", "Ravi", "Nair", "manifest_reviewer", _REVIEWS),
    Resident("fin1", "Fiona", "Clarke", "finance_approver", _DECIDES),
    Resident("fin2", "Farid", "Haddad", "finance_approver", _DECIDES),
    Resident("auditor", "Aude", "Martin", "auditor", "reads all that happened, changes nothing"),
    Resident("operator", "Omar", "Diallo", "operator", "watches calls, cancels and settles them"),
    Resident("support", "Sana", "Iyer", "service", "is who the agent acts for; opens no pages"),
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
        if resident.role == AUDITOR:
            _let_audit(user, tenant_id, actor)
        else:
            grant_role(user=user, tenant_id=tenant_id, role=resident.role, actor=actor)
    if confirmed_device(user) is None:
        _give_known_factor(user, sign_in["otp_secret"])
    return user


def _let_audit(user: User, tenant_id: str, actor: Actor) -> None:
    """Access for a quarter, cleared for the arguments of calls; the role comes with it."""
    now = timezone.now()
    terms = Terms(starts_at=now, ends_at=now + AUDIT_WINDOW, clearance=Clearance.CONFIDENTIAL)
    grant_access(
        user=user, tenant_id=tenant_id, terms=terms, actor=actor, reason="The demo's yearly audit"
    )


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
