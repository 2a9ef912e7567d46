"""Granting auditors access and taking it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from audit.clearance import Clearance
from audit.models import AuditorAccess
from audit.services import record_event
from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.access import roles_of
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock, require_reason
from contextos.identity.models import Membership, Tenant, User
from contextos.identity.roles import AUDITOR
from contextos.identity.services.memberships import change_role_term, grant_role

OVERSEES = "platform_admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is granted: when to look, which period, how confidential."""

    starts_at: datetime
    ends_at: datetime
    data_from: datetime | None = None
    data_until: datetime | None = None
    clearance: Clearance = Clearance.INTERNAL

    def as_record(self) -> dict[str, str | None]:
        """For the log."""
        moments = {
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "data_from": self.data_from,
            "data_until": self.data_until,
        }
        spelled = {name: format_time(at) if at else None for name, at in moments.items()}
        return {**spelled, "clearance": self.clearance.value}


@transaction.atomic
def grant_access(
    *, user: User, tenant_id: str, terms: Terms, actor: Actor, reason: str
) -> AuditorAccess:
    """Let somebody audit a tenant. The role's own term follows, so everything ends together."""
    require_authority(actor, tenant_id)
    _require_overseer(actor, tenant_id)
    given = require_reason(reason)
    _require_sense(terms)
    tenant = lock(Tenant, tenant_id)  # two grants at once end with one open access
    _set_role(user, tenant_id, terms, actor, given)
    now = timezone.now()
    mine = AuditorAccess.objects.filter(tenant=tenant, user=user, ended_at__isnull=True)
    mine.update(ended_at=now, ended_by=actor.id)
    access = AuditorAccess(
        access_id=new_id("acs"),
        tenant=tenant,
        user=user,
        starts_at=terms.starts_at,
        ends_at=terms.ends_at,
        data_from=terms.data_from,
        data_until=terms.data_until,
        clearance=terms.clearance.value,
        granted_by=actor.id,
        reason=given[:500],
        created_at=now,
    )
    access.full_clean(exclude=["access_id"])
    access.save(force_insert=True)
    _record(access, "audit.access.granted", actor, given, terms.as_record())
    return access


@transaction.atomic
def end_access(*, access_id: str, actor: Actor, reason: str) -> AuditorAccess:
    """Take an access back; it counts from the next request on, for tokens and downloads too."""
    access = lock(AuditorAccess, access_id)
    require_authority(actor, access.tenant_id)
    _require_overseer(actor, access.tenant_id)
    given = require_reason(reason)
    if access.ended_at is not None:
        raise coded_error("auditor.access_ended", message="This access has ended already.")
    access.ended_at, access.ended_by = timezone.now(), actor.id
    access.save(update_fields=["ended_at", "ended_by"])
    _end_role(access, actor, given)
    _record(access, "audit.access.ended", actor, given, {})
    return access


def _require_overseer(actor: Actor, tenant_id: str) -> None:
    """A person needs the role; commands and those who run the installation act above tenants."""
    if actor.kind != "user" or actor.tenant_id is None:
        return
    person = User.objects.filter(user_id=actor.id).first()
    if person is None or OVERSEES not in roles_of(person, tenant_id):
        raise coded_error("role.missing", data={"roles": [OVERSEES]})


def _require_sense(terms: Terms) -> None:
    if terms.ends_at <= max(terms.starts_at, timezone.now()):
        raise coded_error("auditor.term_invalid")
    if terms.data_from and terms.data_until and terms.data_until <= terms.data_from:
        raise coded_error("auditor.term_invalid", message="The period of records ends too early.")


def _set_role(user: User, tenant_id: str, terms: Terms, actor: Actor, reason: str) -> None:
    held = Membership.objects.filter(user=user, tenant_id=tenant_id, role__name=AUDITOR).first()
    term = {"valid_from": terms.starts_at, "valid_until": terms.ends_at}
    if held is None or held.state == "ended":
        grant_role(user=user, tenant_id=tenant_id, role=AUDITOR, actor=actor, reason=reason, **term)
    else:
        change_role_term(membership_id=held.pk, actor=actor, reason=reason, **term)


def _end_role(access: AuditorAccess, actor: Actor, reason: str) -> None:
    held = Membership.objects.filter(
        user_id=access.user_id, tenant_id=access.tenant_id, role__name=AUDITOR
    ).first()
    if held is None or held.state == "ended":
        return
    begun = held.valid_from if held.valid_from and held.valid_from < timezone.now() else None
    change_role_term(
        membership_id=held.pk,
        actor=actor,
        reason=reason,
        valid_from=begun,
        valid_until=access.ended_at,
    )


def _record(
    access: AuditorAccess, action: str, actor: Actor, reason: str, data: dict[str, str | None]
) -> None:
    record_event(
        tenant_id=access.tenant_id,
        action=action,
        actor=actor,
        subject_kind="auditor_access",
        subject_id=access.access_id,
        reason=reason,
        data={"auditor": access.user.user_id, "name": access.user.username, **data},
    )
