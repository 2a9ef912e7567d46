"""Gates, groups and delegations for tests of pages, made through the services."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from approvals.models import ApproverGroup, Delegation, GateVersion
from approvals.services import delegations, gates, groups
from contextos.core.clock import utcnow
from contextos.identity.models import Tenant, User
from tests.approvals.test_gates import gate
from tests.factories import SYSTEM, actor_for, make_member


def make_gate(tenant: Tenant, marker: str, **changes: Any) -> GateVersion:
    """A draft whose id is the marker."""
    author = make_member(tenant, "manifest_author")
    return gates.create_draft(
        tenant_id=tenant.pk,
        document=gate(gate_id=marker, **changes),
        author=author,
        actor=actor_for(author, tenant),
    )


def make_group(tenant: Tenant, marker: str, *people: User) -> ApproverGroup:
    """A group that is called by the marker."""
    made = groups.create_group(tenant_id=tenant.pk, name=marker, title=marker, actor=SYSTEM)
    for user in people:
        groups.add_person(group=made, user=user, actor=SYSTEM)
    return made


def make_delegation(tenant: Tenant, marker: str) -> Delegation:
    """The giver's name is the marker."""
    giver = make_member(tenant, "finance_approver", username=marker)
    return delegations.delegate(
        tenant_id=tenant.pk,
        giver=giver,
        stand_in=make_member(tenant, "finance_approver"),
        starts_at=utcnow(),
        ends_at=utcnow() + timedelta(days=3),
        reason="Holiday.",
        actor=actor_for(giver, tenant),
    )
