"""A tenant with one person per role, and the walk of a manifest through its life."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from contextos.core.events import Actor
from contextos.identity.actors import person
from contextos.identity.models import Tenant, User
from registry.models import AdapterVersion, KillSwitch
from registry.selectors import versions_of
from registry.services import lifecycle, manifests
from registry.services.kill_switches import throw_switch
from tests.factories import make_member, make_tenant, make_user_token
from tests.registry.manifests import Manifest

ROLES = {
    "admin": "platform_admin",
    "author": "manifest_author",
    "reviewer": "manifest_reviewer",
    "reviewer2": "manifest_reviewer",
    "auditor": "auditor",
    "operator": "operator",
    "approver": "finance_approver",
    "service": "service",
}


@dataclass
class House:
    """One tenant's people; every step is taken through the services, by the person named."""

    tenant: Tenant = field(default_factory=make_tenant)
    _people: dict[str, User] = field(default_factory=dict)
    _tokens: dict[str, str] = field(default_factory=dict)

    @property
    def tenant_id(self) -> str:
        return str(self.tenant.pk)

    def user(self, name: str) -> User:
        if name not in self._people:
            self._people[name] = make_member(self.tenant, ROLES[name])
        return self._people[name]

    def actor(self, name: str) -> Actor:
        return person(self.user(name), self.tenant_id)

    def token(self, name: str) -> str:
        if name not in self._tokens:
            self._tokens[name] = make_user_token(self.user(name), self.tenant).token
        return self._tokens[name]

    @cached_property
    def author(self) -> User:
        return self.user("author")

    def draft(self, manifest: Manifest, *, by: str = "author") -> AdapterVersion:
        return manifests.create_draft(
            tenant_id=self.tenant_id,
            document=manifest,
            author=self.user(by),
            actor=self.actor(by),
        )

    def edit(self, version: AdapterVersion, manifest: Manifest, *, by: str) -> AdapterVersion:
        return manifests.replace_draft(
            version_id=version.pk,
            document=manifest,
            editor=self.user(by),
            actor=self.actor(by),
        )

    def submit(self, version: AdapterVersion, *, by: str = "author") -> AdapterVersion:
        return lifecycle.submit(version_id=version.pk, actor=self.actor(by))

    def approve(
        self, version: AdapterVersion, *, by: str = "reviewer", **said: Any
    ) -> AdapterVersion:
        said.setdefault("reason", "Read it, it is sound.")
        return lifecycle.approve(
            version_id=version.pk, reviewer=self.user(by), actor=self.actor(by), **said
        )

    def reject(
        self, version: AdapterVersion, *, by: str = "reviewer", reason: str = "Not sound."
    ) -> AdapterVersion:
        return lifecycle.reject(
            version_id=version.pk, reviewer=self.user(by), actor=self.actor(by), reason=reason
        )

    def request_changes(
        self, version: AdapterVersion, *, by: str = "reviewer", reason: str = "Name the owner."
    ) -> AdapterVersion:
        return lifecycle.request_changes(
            version_id=version.pk, reviewer=self.user(by), actor=self.actor(by), reason=reason
        )

    def publish(
        self, version: AdapterVersion, *, by: str = "admin", notes: str = ""
    ) -> AdapterVersion:
        return lifecycle.publish(version_id=version.pk, actor=self.actor(by), rollout_notes=notes)

    def retire(
        self, version: AdapterVersion, *, by: str = "admin", reason: str = "Replaced for good."
    ) -> AdapterVersion:
        return lifecycle.retire(version_id=version.pk, actor=self.actor(by), reason=reason)

    def throw(
        self, scope: str, target_id: str, *, reason: str = "Stop.", by: str = "operator"
    ) -> KillSwitch:
        return throw_switch(
            tenant_id=self.tenant_id,
            scope=scope,
            target_id=target_id,
            reason=reason,
            actor=self.actor(by),
        )

    def in_review(self, manifest: Manifest) -> AdapterVersion:
        return self.submit(self.draft(manifest))

    def approved(self, manifest: Manifest) -> AdapterVersion:
        version = self.in_review(manifest)
        for name in ("reviewer", "reviewer2")[: version.reviewers_needed]:
            version = self.approve(version, by=name, accepted_warnings=self._warnings(version))
        return version

    def published(self, manifest: Manifest) -> AdapterVersion:
        return self.publish(self.approved(manifest))

    def fresh(self, version: AdapterVersion) -> AdapterVersion:
        return versions_of(self.tenant_id).get(pk=version.pk)

    def _warnings(self, version: AdapterVersion) -> list[str]:
        return [f.tick_id for f in version.findings.filter(severity="warn")]


def staffed() -> House:
    """A house in which everybody is there already: to be recorded and copied back."""
    house = House()
    for name in ROLES:
        house.user(name)
    return house
