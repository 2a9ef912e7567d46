"""How long a tenant keeps each class of records: defaults, changes as versions, a floor (E6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from audit.models import RecordClass, RetentionRule
from audit.models.retention import DEFAULT_DAYS, FLOOR_DAYS, MOST_DAYS
from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority

MAX_REASON = 500
CLOCK_SLACK = timedelta(hours=1)  # triggers go by the database's clock, which may be behind ours


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a class is kept at the moment, and which version says so; 0 is our default."""

    record_class: RecordClass
    days: int
    version: int

    def cutoff(self, now: datetime) -> datetime:
        """What was written before this is due; the floor holds whatever a rule may say."""
        return now - timedelta(days=max(self.days, FLOOR_DAYS)) - CLOCK_SLACK


def terms_of(tenant_id: str) -> dict[RecordClass, Terms]:
    """What is in force for every class."""
    found = {name: Terms(name, days, 0) for name, days in DEFAULT_DAYS.items()}
    for rule in RetentionRule.objects.filter(tenant_id=tenant_id).order_by("version"):
        name = RecordClass(rule.record_class)
        found[name] = Terms(name, rule.days, rule.version)
    return found


@transaction.atomic
def set_retention(
    *, tenant_id: str, record_class: RecordClass, days: int, reason: str, actor: Actor
) -> RetentionRule:
    """Keep a class for another time from now on; the version before stays on record."""
    require_authority(actor, tenant_id)
    if not FLOOR_DAYS <= days <= MOST_DAYS:
        raise coded_error("retention.under_floor", data={"floor": FLOOR_DAYS, "most": MOST_DAYS})
    why = reason.strip()[:MAX_REASON]
    if not why:
        raise coded_error("retention.reason_missing")
    before = terms_of(tenant_id)[record_class]
    if before.days == days:
        raise coded_error("retention.unchanged")
    rule = _written(tenant_id, record_class, days, before.version + 1, why, actor)
    record_event(
        tenant_id=tenant_id,
        action="retention.changed",
        actor=actor,
        subject_kind="retention",
        subject_id=record_class.value,
        reason=why,
        data={"days": days, "days_before": before.days, "version": rule.version},
    )
    return rule


def _written(
    tenant_id: str, record_class: RecordClass, days: int, version: int, why: str, actor: Actor
) -> RetentionRule:
    try:
        with transaction.atomic():
            return RetentionRule.objects.create(
                tenant_id=tenant_id,
                record_class=record_class,
                version=version,
                days=days,
                reason=why,
                changed_by=actor.id,
                changed_by_name=actor.display,
                created_at=utcnow(),
            )
    except IntegrityError as taken:
        raise coded_error("retention.just_changed") from taken
