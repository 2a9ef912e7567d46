"""A draft in the place of what was in force: a policy bundle, or the manifest of an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextos.core.canonical import digest
from registry.pins import PinnedVersion
from registry.resolution import OpenedCapabilities, Origin, capabilities_in
from registry.tenant_documents import OpenedBundle, opened_bundle


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """Takes the place of the bundle of the same id, or joins where there was none."""

    bundle: OpenedBundle

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> PolicyDraft:
        """Compile it; raises `policy_bundle.invalid` with every fault named."""
        return cls(opened_bundle(document))

    @property
    def ref(self) -> str:
        """How people call it."""
        return self.bundle.bundle.ref

    def bundles(self, found: list[OpenedBundle]) -> list[OpenedBundle]:
        """The others, and this one."""
        mine = self.bundle.bundle.bundle_id
        return [*(item for item in found if item.bundle.bundle_id != mine), self.bundle]

    def pinned(self, found: dict[str, PinnedVersion]) -> dict[str, PinnedVersion]:
        """As they were."""
        return found


@dataclass(frozen=True, slots=True)
class ManifestDraft:
    """Takes the place of the version that runs were pinned to."""

    adapter_id: str
    version: str
    opened: OpenedCapabilities

    @classmethod
    def of(cls, document: Mapping[str, Any], *, tenant_id: str) -> ManifestDraft:
        """Read it; raises `signature.invalid` where it does not say all that a call needs."""
        adapter_id, version = str(document.get("adapter_id")), str(document.get("version"))
        origin = Origin(
            tenant_id=tenant_id,
            adapter_id=adapter_id,
            version_id="",
            version=version,
            manifest_hash=digest(document),
        )
        return cls(adapter_id, version, capabilities_in(dict(document), origin))

    @property
    def ref(self) -> str:
        """How people call it."""
        return f"{self.adapter_id}@{self.version}"

    def bundles(self, found: list[OpenedBundle]) -> list[OpenedBundle]:
        """As they were."""
        return found

    def pinned(self, found: dict[str, PinnedVersion]) -> dict[str, PinnedVersion]:
        """The draft where a run had some version of this adapter."""
        if self.adapter_id not in found:
            return found
        return {**found, self.adapter_id: PinnedVersion(self.adapter_id, self.opened)}
