"""The walk of a pack or a policy bundle through its life, each step by the person named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextos.review.document_versions import DocumentVersion
from registry.models import ContextPackVersion, PolicyBundleVersion
from registry.services import packs, policies
from tests.registry.documents import Document
from tests.registry.house import House


@dataclass
class Walk:
    """One kind of document in one house."""

    house: House
    drafts: Any  # the module with create_draft and replace_draft
    lifecycle: Any
    model: type[DocumentVersion]

    def draft(self, document: Document, *, by: str = "author") -> Any:
        return self.drafts.create_draft(
            tenant_id=self.house.tenant_id,
            document=document,
            author=self.house.user(by),
            actor=self.house.actor(by),
        )

    def edit(self, version: Any, document: Document, *, by: str = "author", **how: Any) -> Any:
        return self.drafts.replace_draft(
            version_id=version.pk,
            document=document,
            editor=self.house.user(by),
            actor=self.house.actor(by),
            **how,
        )

    def submit(self, version: Any, *, by: str = "author") -> Any:
        return self.lifecycle.submit(version_id=version.pk, actor=self.house.actor(by))

    def decide(self, verb: str, version: Any, *, by: str = "reviewer", **said: Any) -> Any:
        said.setdefault("reason", "Read it, it is sound.")
        return getattr(self.lifecycle, verb)(
            version_id=version.pk,
            reviewer=self.house.user(by),
            actor=self.house.actor(by),
            **said,
        )

    def approve(self, version: Any, **how: Any) -> Any:
        how.setdefault("accepted_warnings", [item["id"] for item in version.findings])
        return self.decide("approve", version, **how)

    def comment(self, version: Any, *, by: str = "reviewer") -> Any:
        return self.lifecycle.comment(
            version_id=version.pk,
            reviewer=self.house.user(by),
            actor=self.house.actor(by),
            text="Hm.",
        )

    def publish(self, version: Any, *, by: str = "admin", **how: Any) -> Any:
        return self.lifecycle.publish(version_id=version.pk, actor=self.house.actor(by), **how)

    def retire(self, version: Any, *, by: str = "admin") -> Any:
        return self.lifecycle.retire(
            version_id=version.pk, actor=self.house.actor(by), reason="Replaced for good."
        )

    def in_review(self, document: Document) -> Any:
        return self.submit(self.draft(document))

    def approved(self, document: Document) -> Any:
        return self.approve(self.in_review(document))

    def published(self, document: Document, **how: Any) -> Any:
        return self.publish(self.approved(document), **how)

    def fresh(self, version: Any) -> Any:
        return self.model._default_manager.get(pk=version.pk)


def pack_walk(house: House) -> Walk:
    """The life of Context Packs."""
    return Walk(house, packs, packs.PACK_LIFECYCLE, ContextPackVersion)


def policy_walk(house: House) -> Walk:
    """The life of policy bundles."""
    return Walk(house, policies, policies.POLICY_LIFECYCLE, PolicyBundleVersion)
