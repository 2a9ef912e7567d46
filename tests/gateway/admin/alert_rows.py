"""Alerts and their receivers as rows."""

from __future__ import annotations

from typing import Any

from contextos.core.clock import utcnow
from contextos.identity.models import Tenant
from gateway.alert_receivers import add_receiver
from gateway.alerts import raise_alert
from gateway.models import Alert, AlertKind, AlertReceiver
from tests.factories import SYSTEM

SECRET = "k3y-0f-thirty-two-random-letters-x9"


def make_alert(tenant: Tenant, subject: str = "adp_orders", **facts: Any) -> Alert:
    raise_alert(
        tenant_id=tenant.pk,
        kind=AlertKind.BREAKER_OPEN,
        subject=subject,
        facts={"last_failure": "function.timeout", **facts},
        happened_at=utcnow(),
    )
    return Alert.objects.filter(tenant=tenant, subject=subject).latest("happened_at")


def make_receiver(tenant: Tenant, name: str = "On call", **changes: Any) -> AlertReceiver:
    values: dict[str, Any] = {"channel": "email", "address": "oncall@example.com", **changes}
    return add_receiver(tenant_id=tenant.pk, name=name, actor=SYSTEM, **values)
