"""Who may read records, which period of them, and how confidential the values may be (E3).

`window_of` is asked by every surface that shows or exports records. The role gives permission and
a tenant; what an auditor may read, an `AuditorAccess` says, and without one they read nothing.
Platform admins and operators have no window.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.utils import timezone

from audit.clearance import Clearance
from audit.models import AuditorAccess
from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.identity.access import roles_of
from contextos.identity.models import Tenant, User
from contextos.identity.principals import Principal
from contextos.identity.roles import AUDITOR

UNLIMITED = frozenset({"platform_admin", "operator"})
READERS = UNLIMITED | {AUDITOR}

Row = TypeVar("Row", bound=Model)
Viewer = User | Principal | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What one person may read in one tenant now; `data_until` itself is outside."""

    user_id: str
    tenant_id: str
    clearance: Clearance
    is_auditor: bool = False
    data_from: datetime | None = None
    data_until: datetime | None = None
    access_until: datetime | None = None

    @property
    def is_limited(self) -> bool:
        """Whether some period is hidden."""
        return self.data_from is not None or self.data_until is not None

    def covers(self, moment: datetime) -> bool:
        """Whether something of that moment may be read."""
        if self.data_from is not None and moment < self.data_from:
            return False
        return self.data_until is None or moment < self.data_until

    def require(self, *moments: datetime) -> None:
        """Refuse what lies wholly outside, in words that say why."""
        if not any(self.covers(moment) for moment in moments):
            raise coded_error("auditor.outside_window", data=self.as_record())

    def limit(self, rows: QuerySet[Row], field: str = "created_at") -> QuerySet[Row]:
        """The rows whose moment lies inside."""
        if self.data_from is not None:
            rows = rows.filter(**{f"{field}__gte": self.data_from})
        if self.data_until is not None:
            rows = rows.filter(**{f"{field}__lt": self.data_until})
        return rows

    def reads(self, classification: str) -> bool:
        """Whether values of a class are shown to them."""
        return self.clearance.reads(classification)

    def as_record(self) -> dict[str, Any]:
        """For events, exports and refusals: which window was looked through."""
        return {
            "data_from": _spelled(self.data_from),
            "data_until": _spelled(self.data_until),
            "access_until": _spelled(self.access_until),
            "clearance": self.clearance.value,
        }


def window_of(user: Viewer, tenant: Tenant | str) -> Window:
    """The window of a person (an object, a token's principal or a user id), or a coded refusal.

    Asked anew for every page, request, export job and download: an access that has ended meanwhile
    refuses, whatever was begun under it.
    """
    tenant_id = tenant if isinstance(tenant, str) else str(tenant.pk)
    person_id, roles = _standing(user, tenant_id)
    if roles & UNLIMITED:
        return Window(user_id=person_id, tenant_id=tenant_id, clearance=Clearance.RESTRICTED)
    if AUDITOR not in roles:
        _refuse_ended(person_id, tenant_id)
        raise coded_error("role.missing", data={"roles": sorted(READERS)})
    return _auditor_window(person_id, tenant_id)


def _standing(user: Viewer, tenant_id: str) -> tuple[str, frozenset[str]]:
    """Their public id and the roles they hold now; who runs the installation stands above them."""
    if isinstance(user, Principal):
        held = user.roles if user.is_person and user.tenant_id == tenant_id else ()
        return user.id, frozenset(held)
    person = User.objects.filter(user_id=user).first() if isinstance(user, str) else user
    if person is None:
        return str(user), frozenset()
    if person.is_active and person.is_superuser:
        return person.user_id, UNLIMITED
    return person.user_id, roles_of(person, tenant_id)


def _auditor_window(user_id: str, tenant_id: str) -> Window:
    access = _latest(user_id, tenant_id)
    if access is None:  # the role alone says neither which period nor how confidential
        raise coded_error("auditor.access_missing")
    _require_current(access)
    return Window(
        user_id=user_id,
        tenant_id=tenant_id,
        clearance=Clearance(access.clearance),
        is_auditor=True,
        data_from=access.data_from,
        data_until=access.data_until,
        access_until=access.ends_at,
    )


def _latest(user_id: str, tenant_id: str) -> AuditorAccess | None:
    """The last one granted; the ones before it have ended."""
    mine = AuditorAccess.objects.filter(tenant_id=tenant_id, user__user_id=user_id)
    return mine.order_by("-access_id").first()


def _require_current(access: AuditorAccess) -> None:
    now, ended = timezone.now(), access.ended_at or access.ends_at
    if access.ended_at is not None or access.ends_at <= now:
        raise coded_error(
            "auditor.access_ended",
            message=f"Your access as an auditor ended on {ended:%Y-%m-%d at %H:%M} UTC.",
            data={"ended_at": format_time(ended)},
        )
    if access.starts_at > now:
        raise coded_error(
            "auditor.access_not_begun",
            message=f"Your access begins on {access.starts_at:%Y-%m-%d at %H:%M} UTC.",
            data={"starts_at": format_time(access.starts_at)},
        )


def _refuse_ended(user_id: str, tenant_id: str) -> None:
    """Somebody who was an auditor here is told that it is over, not that a role is missing."""
    access = _latest(user_id, tenant_id)
    if access is not None:
        _require_current(access)


def _spelled(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
