"""The demo's Context Pack and policies: written, reviewed, signed and published for real."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from contextos.core import strict_json
from contextos.identity.actors import person
from contextos.identity.models import User
from registry.models import ContextPackVersion, PolicyBundleVersion
from registry.services import packs, policies

Document = dict[str, Any]
_PACKS = ("packs/support_refund.json", "packs/support_desk.json")
_POLICY = "policies/refunds.json"
_PROPOSED_POLICY = "policies/refunds_v2.json"


@dataclass(frozen=True, slots=True)
class _Desk:
    """The people of one tenant and one kind of document."""

    people: Mapping[str, User]
    tenant_id: str
    services: Any  # registry.services.packs or .policies
    lifecycle: Any

    def submitted(self, document: Document) -> Any:
        author = self.people["author"]
        actor = person(author, self.tenant_id)
        draft = self.services.create_draft(
            tenant_id=self.tenant_id, document=document, author=author, actor=actor
        )
        return self.lifecycle.submit(version_id=draft.pk, actor=actor)

    @transaction.atomic
    def publish(self, document: Document) -> None:
        version = self.submitted(document)
        reviewer = self.people["reviewer"]
        self.lifecycle.approve(
            version_id=version.pk,
            reviewer=reviewer,
            actor=person(reviewer, self.tenant_id),
            reason="Read in full; it says what finance and support agreed on.",
            accepted_warnings=[item["id"] for item in version.findings],
            digest=version.digest,
        )
        self.lifecycle.publish(
            version_id=version.pk,
            actor=person(self.people["admin"], self.tenant_id),
            rollout_notes="First version of the demo.",
        )


def build_policies(people: Mapping[str, User], *, tenant_id: str) -> None:
    """Publish policy and pack where missing, and propose a change; twice changes nothing."""
    policy_desk = _Desk(people, tenant_id, policies, policies.POLICY_LIFECYCLE)
    pack_desk = _Desk(people, tenant_id, packs, packs.PACK_LIFECYCLE)
    policy, proposed = _example(_POLICY), _example(_PROPOSED_POLICY)
    if not _is_known(PolicyBundleVersion, policy, tenant_id):
        policy_desk.publish(policy)
    for pack in (_example(name) for name in _PACKS):
        if not _is_known(ContextPackVersion, pack, tenant_id):
            pack_desk.publish(pack)
    if not _is_known(PolicyBundleVersion, proposed, tenant_id):
        policy_desk.submitted(proposed)


def _is_known(model: type[Any], document: Document, tenant_id: str) -> bool:
    named = {model.id_column: document[model.id_column], "version": document["version"]}
    return bool(model.objects.filter(tenant_id=tenant_id, **named).exists())


def _example(name: str) -> Document:
    return dict(strict_json.loads_object((settings.BASE_DIR / "examples" / name).read_bytes()))
