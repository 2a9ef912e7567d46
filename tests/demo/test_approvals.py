"""The demo's gate is kept by fin1 and fin2, and a second start changes nothing."""

from __future__ import annotations

import pytest

from approvals.models import GateVersion
from approvals.selectors import gate_in_force, gates_of
from audit.models import AuditEvent
from contextos.demo.approvals import build_approvals
from contextos.demo.people import RESIDENTS
from tests.factories import make_member, make_tenant


@pytest.mark.proves("D1")
def test_the_finance_gate_is_reviewed_signed_and_kept_by_two_people(db: None) -> None:
    tenant = make_tenant()
    people = {resident.username: make_member(tenant, resident.role) for resident in RESIDENTS}
    build_approvals(people, tenant_id=tenant.pk)
    gate = gate_in_force(tenant_id=tenant.pk, gate_id="GATE_FINANCE_APPROVAL")
    assert gate is not None
    assert gate.terms.quorum == 1
    assert [version.findings for version in GateVersion.objects.all()] == [[], []]
    keepers = {name for name, user in people.items() if gates_of(user, tenant.pk)}
    assert keepers == {"fin1", "fin2"}
    events = AuditEvent.objects.count()
    build_approvals(people, tenant_id=tenant.pk)
    assert AuditEvent.objects.count() == events
