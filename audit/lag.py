"""How far sealing is behind, and which places outside don't get their checkpoints (E2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min

from audit.models import LogHead, OutsideMark, UnsealedLeaf
from contextos.core.clock import utcnow


@dataclass(frozen=True, slots=True)
class SealingLag:
    """A tenant whose records wait, since when, and for how long."""

    tenant_id: str
    since: datetime
    seconds: float

    @property
    def is_late(self) -> bool:
        """Whether operators should hear of it."""
        return self.seconds > settings.SEALING_LAG_ALERT_SECONDS


def sealing_lags(*, now: datetime | None = None, tenant_id: str | None = None) -> list[SealingLag]:
    """Tenants whose records wait for the sealer, the longest waiting first.

    The clock that wrote a record may have run behind; nothing has waited since before the last
    round that sealed all there was.
    """
    moment = now or utcnow()
    rows = UnsealedLeaf.objects.all()
    if tenant_id is not None:
        rows = rows.filter(tenant_id=tenant_id)
    oldest = dict(rows.values_list("tenant_id").annotate(oldest=Min("created_at")))
    heads = LogHead.objects.filter(tenant_id__in=oldest, sealed_at__isnull=False)
    sealed = dict(heads.values_list("tenant_id", "sealed_at"))
    since = {each: max(at, sealed.get(each) or at) for each, at in oldest.items()}
    lags = [SealingLag(each, at, _seconds(moment - at)) for each, at in since.items()]
    return sorted(lags, key=lambda lag: lag.since)


def late_tenants(*, now: datetime | None = None) -> list[SealingLag]:
    """Those that wait longer than the settings allow."""
    return [lag for lag in sealing_lags(now=now) if lag.is_late]


def failing_places(*, now: datetime | None = None) -> list[OutsideMark]:
    """Places outside that have not taken checkpoints for longer than the settings allow."""
    before = (now or utcnow()) - timedelta(seconds=settings.SEALING_LAG_ALERT_SECONDS)
    return list(OutsideMark.objects.filter(failed_at__lt=before).order_by("failed_at"))


def _seconds(waited: timedelta) -> float:
    return max(0.0, waited.total_seconds())
