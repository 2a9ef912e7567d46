"""The adapter versions a run is pinned to: opened, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.modes import ApprovalMode, CapabilityClass
from contextos.review.states import SIGNED
from registry.models import AdapterVersion, Capability
from registry.models.kill_switches import KillScope
from registry.resolution import (
    OpenedCapabilities,
    ResolvedCapability,
    TenantSnapshot,
    open_capabilities,
)
from registry.selectors import versions_of

Pins = tuple[tuple[str, str], ...]  # (adapter_id, version), sorted: hashable


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a capability that the pack permits can't be called."""

    code: str
    message: str
    remediation: str | None = None

    def error(self, capability_id: str) -> ContextOSError:
        """The refusal as it is raised."""
        data = {"capability_id": capability_id}
        if self.remediation is None:
            return coded_error(self.code, message=self.message, data=data)
        return coded_error(self.code, message=self.message, remediation=self.remediation, data=data)


@dataclass(frozen=True, slots=True)
class PinnedVersion:
    """What a run may find in one of its versions, before anybody asked for permission."""

    adapter_id: str
    opened: OpenedCapabilities
    revoked: Refusal | None = None  # why nothing of the version can be called
    resting: Mapping[str, Refusal] = field(default_factory=dict)  # capability id -> why not now

    def refusal(self, capability_id: str) -> Refusal | None:
        """Why this capability can't be called; None = it can."""
        return self.revoked or self.resting.get(capability_id)


def pins_of(snapshot: TenantSnapshot, adapter_ids: Iterable[str]) -> dict[str, str]:
    """What a run opened now is pinned to, for the adapters that its packs name."""
    wanted = set(adapter_ids)
    return {
        version.adapter.adapter_id: version.version
        for version in snapshot.published
        if version.adapter.adapter_id in wanted
    }


def pinned_versions(
    snapshot: TenantSnapshot, tenant_id: str, environment: str, pins: Pins, kids: frozenset[str]
) -> dict[str, PinnedVersion]:
    """By adapter; what is not published any more is read once."""
    by_pin = {(row.adapter.adapter_id, row.version): row for row in snapshot.published}
    by_pin.update(_rows(tenant_id, environment, [pin for pin in pins if pin not in by_pin]))
    rows = {adapter_id: by_pin.get((adapter_id, version)) for adapter_id, version in pins}
    return {
        adapter_id: _pinned(row, snapshot, kids)
        for adapter_id, row in rows.items()
        if row is not None
    }


def _rows(
    tenant_id: str, environment: str, pins: list[tuple[str, str]]
) -> Mapping[tuple[str, str], AdapterVersion]:
    if not pins:
        return {}
    rows = versions_of(tenant_id).filter(
        environment=environment,
        adapter__adapter_id__in=[adapter_id for adapter_id, _ in pins],
        version__in=[version for _, version in pins],
    )
    return {(row.adapter.adapter_id, row.version): row for row in rows}


def _pinned(
    version: AdapterVersion, snapshot: TenantSnapshot, kids: frozenset[str]
) -> PinnedVersion:
    adapter_id, revoked = version.adapter.adapter_id, _revoked(version, snapshot)
    try:
        opened = open_capabilities(version, kids)
    except ContextOSError as fault:
        untrusted = Refusal("pin.revoked", f"{version} can't be trusted: {fault.message}")
        return PinnedVersion(adapter_id, _indexed_alone(version), revoked or untrusted)
    resting = {} if revoked else _resting(version, opened, snapshot)
    return PinnedVersion(adapter_id, opened, revoked, resting)


def _indexed_alone(version: AdapterVersion) -> OpenedCapabilities:
    """Of a version that can't be opened the index still says what it would have offered."""
    return OpenedCapabilities(
        {row.capability_id: _index_entry(version, row) for row in version.capabilities.all()}
    )


def _index_entry(version: AdapterVersion, row: Capability) -> ResolvedCapability:
    """Good for a refusal that names the capability, and for nothing else."""
    capability_class, mode = _risk_of(row)
    return ResolvedCapability(
        capability_id=row.capability_id,
        capability_class=capability_class,
        approval_mode=mode,
        adapter_id=version.adapter.adapter_id,
        version_id=version.version_id,
        version=version.version,
        manifest_hash=version.digest,
        declaration={},
        manifest={},
    )


def _risk_of(row: Capability) -> tuple[CapabilityClass, ApprovalMode]:
    """As the index says; an entry nobody can read is taken for the worst."""
    try:
        return CapabilityClass(row.capability_class), ApprovalMode(row.approval_mode)
    except ValueError:
        return CapabilityClass.ACT, ApprovalMode.DESTRUCTIVE


def _revoked(version: AdapterVersion, snapshot: TenantSnapshot) -> Refusal | None:
    if version.state not in SIGNED:
        state = version.get_state_display().lower()
        return Refusal("pin.revoked", f"{version} is {state}; nothing runs on it.")
    reasons = snapshot.stops.reasons
    stopped = reasons.get((KillScope.ADAPTER.value, version.adapter.adapter_id)) or reasons.get(
        (KillScope.VERSION.value, version.version_id)
    )
    if stopped is None:
        return None
    return Refusal(
        "pin.revoked",
        f"{version} is switched off: {stopped}",
        "Wait until an operator lifts the kill switch, then try again.",
    )


def _resting(
    version: AdapterVersion, opened: OpenedCapabilities, snapshot: TenantSnapshot
) -> dict[str, Refusal]:
    """The capabilities that are switched off or in quarantine; mostly none."""
    reasons = snapshot.stops.reasons
    whole = reasons.get((KillScope.TENANT.value, snapshot.stops.tenant_id))
    stopped = (
        dict.fromkeys(opened.by_id, whole)
        if whole is not None
        else {name: why for (scope, name), why in reasons.items() if scope == KillScope.CAPABILITY}
    )
    quarantined = {
        name: Refusal("drift.quarantined", f"{name} rests in quarantine: {why}")
        for (version_id, name), why in snapshot.quarantined.items()
        if version_id == version.version_id
    }
    switched_off = {
        name: Refusal("capability.disabled", f"{name} is switched off: {why}")
        for name, why in stopped.items()
    }
    return {**quarantined, **switched_off}
