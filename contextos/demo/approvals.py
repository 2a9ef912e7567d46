"""The demo's gates and their group of approvers: written, reviewed, signed and in force."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.db import transaction

from approvals.models import ApproverGroup, GateVersion
from approvals.services import gates, groups
from contextos.core import strict_json
from contextos.identity.actors import person
from contextos.identity.models import User

_GATES = ("gates/finance.json", "gates/on_duty.json")
_GROUP = "finance"
_APPROVERS = ("fin1", "fin2")


@transaction.atomic
def build_approvals(people: Mapping[str, User], *, tenant_id: str) -> None:
    """Make what is missing; twice changes nothing."""
    admin = person(people["admin"], tenant_id)
    if not ApproverGroup.objects.filter(tenant_id=tenant_id, name=_GROUP).exists():
        group = groups.create_group(tenant_id=tenant_id, name=_GROUP, title="Finance", actor=admin)
        for name in _APPROVERS:
            groups.add_person(group=group, user=people[name], actor=admin)
    for name in _GATES:
        document = strict_json.loads_object((settings.BASE_DIR / "examples" / name).read_bytes())
        if not _is_known(document, tenant_id):
            _publish(document, people, tenant_id)


def _is_known(document: Mapping[str, object], tenant_id: str) -> bool:
    named = {name: document[name] for name in ("gate_id", "version")}
    return GateVersion.objects.filter(tenant_id=tenant_id, **named).exists()


def _publish(document: Mapping[str, object], people: Mapping[str, User], tenant_id: str) -> None:
    author, reviewer = people["author"], people["reviewer"]
    draft = gates.create_draft(
        tenant_id=tenant_id, document=document, author=author, actor=person(author, tenant_id)
    )
    version = gates.submit(version_id=draft.pk, actor=person(author, tenant_id))
    gates.approve(
        version_id=version.pk,
        reviewer=reviewer,
        actor=person(reviewer, tenant_id),
        reason="Read in full; finance agreed to keep this gate.",
        accepted_warnings=[item["id"] for item in version.findings],
        digest=version.digest,
    )
    gates.publish(
        version_id=version.pk,
        actor=person(people["admin"], tenant_id),
        rollout_notes="First version of the demo.",
    )
