"""When an adapter's breaker opens and how many quick calls it may hold: settings, or a person's."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from gateway.models import AdapterTerms
from registry.services.generation import bump_generation

LONGEST_OPEN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one adapter."""

    failures: int
    failure_percent: int
    window_seconds: int
    open_seconds: int
    probes: int
    at_once: int

    @property
    def window(self) -> timedelta:
        """How long failures count together."""
        return timedelta(seconds=self.window_seconds)

    def rest(self, opens: int) -> timedelta:
        """How long it stays open: twice as long with each time in a row."""
        doubled: timedelta = timedelta(seconds=self.open_seconds) * 2 ** min(opens - 1, 16)
        return min(doubled, max(LONGEST_OPEN, timedelta(seconds=self.open_seconds)))


def usual_terms() -> Terms:
    """What holds for an adapter nobody set anything for."""
    return _usual(tuple(settings.ADAPTER_TERMS.values()), tuple(settings.ADAPTER_TERMS))


@lru_cache(maxsize=4)
def _usual(values: tuple[int, ...], names: tuple[str, ...]) -> Terms:
    return Terms(**dict(zip(names, values, strict=True)))


# Read once per tenant and generation of its registry: a change raises the generation.
_kept: dict[str, tuple[int, dict[str, Terms]]] = {}


def terms_at(tenant_id: str, adapter_id: str, generation: int) -> Terms:
    """The terms as of a generation, for the path of every call."""
    kept = _kept.get(tenant_id)
    if kept is None or kept[0] != generation:
        rows = AdapterTerms.objects.filter(tenant_id=tenant_id)
        kept = _kept[tenant_id] = (generation, {row.adapter_id: _of(row) for row in rows})
    return kept[1].get(adapter_id) or usual_terms()


def terms_of(tenant_id: str, adapter_id: str) -> Terms:
    """The terms as they stand in the database now."""
    row = AdapterTerms.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id).first()
    return _of(row) if row else usual_terms()


@transaction.atomic
def set_terms(*, tenant_id: str, adapter_id: str, terms: Terms, reason: str, actor: Actor) -> None:
    """Change the terms of one adapter; they hold for the next call in every process."""
    require_authority(actor, tenant_id)
    if not reason.strip():
        raise coded_error("adapter.reason_missing")
    before = terms_of(tenant_id, adapter_id)
    bump_generation(tenant_id)
    row, _ = AdapterTerms.objects.update_or_create(
        tenant_id=tenant_id, adapter_id=adapter_id, defaults=asdict(terms)
    )
    row.clean_fields()
    record_event(
        tenant_id=tenant_id,
        action="gateway.adapter_terms.changed",
        actor=actor,
        subject_kind="adapter",
        subject_id=adapter_id,
        reason=reason.strip(),
        data={"before": asdict(before), "after": asdict(terms)},
    )


def _of(row: AdapterTerms) -> Terms:
    members: dict[str, Any] = {name: getattr(row, name) for name in Terms.__dataclass_fields__}
    return Terms(**members)
