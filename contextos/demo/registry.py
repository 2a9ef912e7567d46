"""The demo's adapters: written, reviewed, signed and published through the real services."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from contextos.demo.documents import Document, example
from contextos.identity.actors import person
from contextos.identity.models import User
from contextos.review.states import VersionState
from registry.models import AdapterVersion
from registry.services import lifecycle
from registry.services.manifests import create_draft

ENVIRONMENT = "development"  # the demo's servers listen on loopback, over plain http
PAYMENTS_ENDPOINT = "endpoint://payments"  # another port with every start
PUBLISHED = ("payments.json", "orders.json", "knowledge.json", "desk.json")
IN_REVIEW = "payments_v2.json"
REVIEWERS = ("reviewer", "reviewer2")


def build_registry(people: Mapping[str, User], *, tenant_id: str) -> None:
    """Publish what is missing and put one change before the reviewers; twice changes nothing."""
    for name in PUBLISHED:
        manifest = _manifest(name)
        if not _is_known(manifest, tenant_id):
            _publish(manifest, people, tenant_id)
    change = _manifest(IN_REVIEW)
    if not _is_known(change, tenant_id):
        version = _draft(change, people, tenant_id)
        lifecycle.submit(version_id=version.pk, actor=person(people["author"], tenant_id))


def _is_known(manifest: Document, tenant_id: str) -> bool:
    return AdapterVersion.objects.filter(
        tenant_id=tenant_id,
        adapter__adapter_id=manifest["adapter_id"],
        version=manifest["version"],
    ).exists()


@transaction.atomic
def _publish(manifest: Document, people: Mapping[str, User], tenant_id: str) -> None:
    version = _draft(manifest, people, tenant_id)
    author, admin = people["author"], people["admin"]
    version = lifecycle.submit(version_id=version.pk, actor=person(author, tenant_id))
    _approve(version, people, tenant_id)
    lifecycle.publish(
        version_id=version.pk,
        actor=person(admin, tenant_id),
        rollout_notes="First version of the demo.",
    )


def _approve(version: AdapterVersion, people: Mapping[str, User], tenant_id: str) -> None:
    warnings = version.findings.filter(severity="warn")
    for name in REVIEWERS[: version.reviewers_needed]:
        version = lifecycle.approve(
            version_id=version.pk,
            reviewer=people[name],
            actor=person(people[name], tenant_id),
            reason="Read in full; the demo's servers are ours.",
            accepted_warnings=[finding.tick_id for finding in warnings],
            digest=version.digest,
        )
    if version.state != VersionState.APPROVED:
        raise RuntimeError(f"the demo's {version} is {version.state} and not approved")


def _draft(manifest: Document, people: Mapping[str, User], tenant_id: str) -> AdapterVersion:
    author = people["author"]
    return create_draft(
        tenant_id=tenant_id, document=manifest, author=author, actor=person(author, tenant_id)
    )


def _manifest(name: str) -> Document:
    document = example(f"manifests/{name}")
    document["environment"] = ENVIRONMENT
    if document["protocol"] == "mcp":
        document["transport"] = {**document["transport"], "endpoint_ref": PAYMENTS_ENDPOINT}
    return document
