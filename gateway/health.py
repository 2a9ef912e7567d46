"""How adapters do: latency, errors, breaker, rates and places, from the tenant's latest calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from gateway.bulkhead import places_held
from gateway.connectors.mcp.portal import sessions
from gateway.endpoints import EndpointRef, address_of
from gateway.models import Breaker, ToolCall
from gateway.rate_counters import Rate
from gateway.rates import counter
from gateway.states import CALLS, BreakerState, CallState
from registry.models import Adapter, AdapterVersion
from registry.selectors import adapters_of, open_version, with_active_versions

# Of the tenant's latest calls so many are looked at: its index is in this order, and a page that
# reads them costs the same whether there are thousands or millions more.
LOOKED_AT = 2000


@dataclass(frozen=True, slots=True)
class Seen:
    """One call as far as health goes."""

    adapter_id: str
    capability_id: str
    state: str
    error_code: str
    milliseconds: float | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Figures:
    """What some calls amount to."""

    calls: int = 0
    failed: int = 0
    unknown: int = 0
    open: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    since: datetime | None = None
    codes: Sequence[tuple[str, int]] = ()

    @property
    def failure_percent(self) -> float | None:
        """Of the calls that ended."""
        ended = self.calls - self.open
        return None if not ended else 100 * (self.failed + self.unknown) / ended


@dataclass(frozen=True, slots=True)
class RateUse:
    """How much of a capability's rate is used now."""

    used: int
    rate: Rate


@dataclass(frozen=True, slots=True)
class CapabilityHealth:
    """One capability of an adapter."""

    capability_id: str
    figures: Figures
    rate: RateUse | None


@dataclass(frozen=True, slots=True)
class AdapterHealth:
    """One adapter of the tenant."""

    adapter_id: str
    name: str
    versions: Sequence[AdapterVersion]
    figures: Figures
    breaker: Breaker | None
    held: int = 0  # places taken in this process
    sessions: int | None = None  # open in this process; None where the protocol keeps none
    discovered_at: datetime | None = None
    capabilities: Sequence[CapabilityHealth] = field(default_factory=tuple)

    @property
    def is_closed(self) -> bool:
        """Whether calls pass."""
        return self.breaker is None or self.breaker.state == BreakerState.CLOSED


def adapters_health(tenant_id: str) -> list[AdapterHealth]:
    """Every active adapter, those whose breaker is not closed first."""
    seen: dict[str, list[Seen]] = {}
    for call in latest_calls(tenant_id):
        seen.setdefault(call.adapter_id, []).append(call)
    breakers = {row.adapter_id: row for row in Breaker.objects.filter(tenant_id=tenant_id)}
    found = [
        _health(adapter, seen.get(adapter.adapter_id, []), breakers.get(adapter.adapter_id))
        for adapter in _active(tenant_id)
    ]
    return sorted(found, key=lambda health: (health.is_closed, health.name.casefold()))


def adapter_health(tenant_id: str, adapter_id: str) -> AdapterHealth | None:
    """One adapter with its capabilities; None when the tenant has no such active adapter."""
    adapter = next((row for row in _active(tenant_id) if row.adapter_id == adapter_id), None)
    if adapter is None:
        return None
    calls = [call for call in latest_calls(tenant_id) if call.adapter_id == adapter_id]
    row = Breaker.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).first()
    return replace(
        _health(adapter, calls, row),
        discovered_at=_discovered_at(adapter),
        sessions=_sessions(adapter),
        capabilities=_capabilities(adapter, calls),
    )


def open_sessions(tenant_id: str) -> int:
    """The tenant's MCP sessions that this very process keeps open."""
    return sessions().open_with(tenant_id).total()


def latest_calls(tenant_id: str) -> list[Seen]:
    """The tenant's latest calls, newest first."""
    rows = ToolCall.objects.filter(tenant_id=tenant_id).order_by("-tool_call_id")
    columns = ("adapter_id", "capability_id", "state", "error_code", "result", "created_at")
    return [
        Seen(adapter, capability, state, code, _milliseconds(state, result), began)
        for adapter, capability, state, code, result, began in rows.values_list(*columns)[
            :LOOKED_AT
        ]
    ]


# What people refused or called off says nothing of the adapter.
_ITS_OWN = (CallState.FAILED, CallState.UNKNOWN_OUTCOME)


def figures_of(calls: Sequence[Seen]) -> Figures:
    """Counts and percentiles."""
    if not calls:
        return Figures()
    times = sorted(c.milliseconds for c in calls if c.milliseconds is not None and c.state == "ok")
    codes = Counter(c.error_code for c in calls if c.error_code and c.state in _ITS_OWN)
    return Figures(
        calls=len(calls),
        failed=sum(c.state == CallState.FAILED for c in calls),
        unknown=sum(c.state == CallState.UNKNOWN_OUTCOME for c in calls),
        open=sum(not CALLS.is_terminal(c.state) for c in calls),
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        since=min(c.created_at for c in calls),
        codes=codes.most_common(5),
    )


def percentile(ordered: Sequence[float], share: int) -> float | None:
    """The nearest rank; None of nothing."""
    if not ordered:
        return None
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _active(tenant_id: str) -> list[Adapter]:
    adapters = with_active_versions(adapters_of(tenant_id))
    return [row for row in adapters if _published(row)]


def _published(adapter: Adapter) -> Sequence[AdapterVersion]:
    found: Sequence[AdapterVersion] = adapter.active_versions  # type: ignore[attr-defined]
    return found


def _health(adapter: Adapter, calls: Sequence[Seen], breaker: Breaker | None) -> AdapterHealth:
    return AdapterHealth(
        adapter_id=adapter.adapter_id,
        name=adapter.name,
        versions=tuple(_published(adapter)),
        figures=figures_of(calls),
        breaker=breaker,
        held=places_held(adapter.tenant_id, adapter.adapter_id),
    )


def _discovered_at(adapter: Adapter) -> datetime | None:
    versions = AdapterVersion.objects.filter(adapter=adapter).values("version_id")
    events = AuditEvent.objects.filter(
        tenant_id=adapter.tenant_id, action="gateway.discovered", subject_id__in=versions
    )
    return events.order_by("-event_id").values_list("created_at", flat=True).first()


def _sessions(adapter: Adapter) -> int | None:
    """Those with the servers of its published versions, whatever credential they show."""
    found = [
        (version.environment, open_version(version).document or {})
        for version in _published(adapter)
    ]
    servers = [
        EndpointRef(
            tenant_id=adapter.tenant_id,
            environment=environment,
            ref=str((manifest.get("transport") or {}).get("endpoint_ref") or ""),
        )
        for environment, manifest in found
        if manifest.get("protocol") == "mcp"
    ]
    if not servers:
        return None
    kept = sessions().open_with(adapter.tenant_id)
    return sum(kept[url] for url in {_address(ref) for ref in servers} if url)


def _address(ref: EndpointRef) -> str:
    try:
        return address_of(ref)
    except ContextOSError:
        return ""  # nobody said yet where it stands


def _capabilities(adapter: Adapter, calls: Sequence[Seen]) -> tuple[CapabilityHealth, ...]:
    manifests = [open_version(version).document for version in _published(adapter)]
    declared = {
        str(item["capability_id"]): item
        for manifest in manifests
        for item in (manifest or {}).get("capabilities") or []
    }
    return tuple(
        CapabilityHealth(
            capability_id=name,
            figures=figures_of([call for call in calls if call.capability_id == name]),
            rate=_rate_use(adapter.tenant_id, item),
        )
        for name, item in sorted(declared.items())
    )


def _rate_use(tenant_id: str, declaration: dict[str, object]) -> RateUse | None:
    rate = Rate.declared(declaration.get("rate_limit"))
    if rate is None:
        return None
    used = counter().used(tenant_id, str(declaration["capability_id"]), rate)
    return RateUse(min(used, rate.max), rate)


def _milliseconds(state: str, result: str) -> float | None:
    """How long the adapter took; what a call waited for people or a worker is not its doing."""
    if state != CallState.OK or not result:
        return None
    stated = orjson.loads(result).get("latency_ms")
    return float(stated) if isinstance(stated, int) else None
