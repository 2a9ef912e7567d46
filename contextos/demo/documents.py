"""How the demo's documents come to be: read from examples/, then reviewed, signed, published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction

from contextos.core import strict_json
from contextos.identity.actors import person
from contextos.identity.models import User

Document = dict[str, Any]


def example(name: str) -> Document:
    """A document of examples/, by its path there."""
    return dict(strict_json.loads_object((settings.BASE_DIR / "examples" / name).read_bytes()))


@dataclass(frozen=True, slots=True)
class Desk:
    """The people of one tenant at one kind of document, and why its reviewer agrees."""

    people: Mapping[str, User]
    tenant_id: str
    model: Any  # of the versions of the documents
    drafting: Any  # the service that begins a version
    lifecycle: Any  # those that lead it on
    reason: str

    def knows(self, document: Document) -> bool:
        """Whether this version was written before."""
        id_column = self.model.id_column
        named = {id_column: document[id_column], "version": document["version"]}
        return bool(self.model.objects.filter(tenant_id=self.tenant_id, **named).exists())

    def submit(self, document: Document) -> Any:
        """Put it before the reviewers."""
        author = self.people["author"]
        actor = person(author, self.tenant_id)
        draft = self.drafting.create_draft(
            tenant_id=self.tenant_id, document=document, author=author, actor=actor
        )
        return self.lifecycle.submit(version_id=draft.pk, actor=actor)

    @transaction.atomic
    def publish(self, document: Document) -> None:
        """The whole way."""
        version = self.submit(document)
        reviewer = self.people["reviewer"]
        self.lifecycle.approve(
            version_id=version.pk,
            reviewer=reviewer,
            actor=person(reviewer, self.tenant_id),
            reason=self.reason,
            accepted_warnings=[item["id"] for item in version.findings],
            digest=version.digest,
        )
        self.lifecycle.publish(
            version_id=version.pk,
            actor=person(self.people["admin"], self.tenant_id),
            rollout_notes="First version of the demo.",
        )
