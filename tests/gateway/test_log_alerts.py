"""Operators hear of a log that is sealed late and of checkpoints nobody outside keeps (E2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from audit.models import OutsideMark, UnsealedLeaf
from contextos.core.clock import utcnow
from contextos.identity.models import Tenant
from gateway.alerts import find_sealing_faults
from gateway.models import Alert, AlertKind
from tests.audit.logs import write_events
from tests.factories import make_tenant

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


@pytest.fixture
def tenant() -> Tenant:
    made = make_tenant()
    UnsealedLeaf.objects.all().delete()
    return made


def test_records_that_wait_too_long_are_told_once_an_hour(tenant: Tenant) -> None:
    write_events(2, tenant.pk)
    soon = utcnow() + timedelta(seconds=5)
    later = utcnow() + timedelta(seconds=60)
    assert find_sealing_faults(soon) == 0
    assert find_sealing_faults(later) == 1
    find_sealing_faults(later)
    alert = Alert.objects.get()
    assert (alert.kind, alert.tenant_id) == (AlertKind.SEALING_LATE, tenant.pk)
    assert alert.facts["seconds"] >= 55


def test_checkpoints_that_nobody_outside_keeps_are_told(tenant: Tenant) -> None:
    OutsideMark.objects.create(
        sink="webhook",
        tenant_id=tenant.pk,
        checkpoint_id=1,
        tree_size=1,
        sent_at=utcnow(),
        failed_at=utcnow() - timedelta(minutes=2),
        fault="delivery.refused: log.example answered 500.",
    )
    assert find_sealing_faults() == 1
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject) == (AlertKind.OUTSIDE_FAILING, "webhook")


def test_the_events_of_the_installation_itself_have_nobody_to_alert_but_are_measured(
    settings: Any,
) -> None:
    write_events(1, "platform")
    settings.SEALING_LAG_ALERT_SECONDS = 0
    assert find_sealing_faults(utcnow() + timedelta(hours=1)) == 0
    page = Client().get("/metrics").content.decode()
    lag = next(line for line in page.splitlines() if line.startswith("contextos_log_sealing_lag"))
    assert float(lag.split()[1]) >= 0
    assert "contextos_log_waiting_tenants 1.0" in page
