"""The demo's gates and their group of approvers: written, reviewed, signed and in force."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from approvals.models import ApproverGroup, GateVersion
from approvals.services import gates, groups
from contextos.demo.documents import Desk, example
from contextos.identity.actors import person
from contextos.identity.models import User

_GATES = ("gates/finance.json", "gates/on_duty.json")
_GROUP = "finance"
_APPROVERS = ("fin1", "fin2")
_AGREED = "Read in full; finance agreed to keep this gate."


@transaction.atomic
def build_approvals(people: Mapping[str, User], *, tenant_id: str) -> None:
    """Make what is missing; twice changes nothing."""
    admin = person(people["admin"], tenant_id)
    if not ApproverGroup.objects.filter(tenant_id=tenant_id, name=_GROUP).exists():
        group = groups.create_group(tenant_id=tenant_id, name=_GROUP, title="Finance", actor=admin)
        for name in _APPROVERS:
            groups.add_person(group=group, user=people[name], actor=admin)
    desk = Desk(people, tenant_id, GateVersion, gates, gates, _AGREED)
    for gate in map(example, _GATES):
        if not desk.knows(gate):
            desk.publish(gate)
