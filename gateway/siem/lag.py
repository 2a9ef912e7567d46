"""How far each stream is behind its tenant's log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from audit.models import AuditEvent, DecisionRow, LogHead, LogLeaf
from contextos.core.clock import utcnow
from gateway.models import SiemStream


@dataclass(frozen=True, slots=True)
class StreamLag:
    """Rows that were sealed and not taken, and how old the oldest is."""

    records: int
    seconds: float


def lags_of(streams: Iterable[SiemStream]) -> dict[int, StreamLag]:
    """By stream; the age is asked for only where something waits."""
    listed = list(streams)
    heads = LogHead.objects.filter(tenant_id__in={stream.tenant_id for stream in listed})
    sizes = dict(heads.values_list("tenant_id", "tree_size"))
    return {stream.pk: _lag(stream, sizes.get(stream.tenant_id, 0)) for stream in listed}


def _lag(stream: SiemStream, size: int) -> StreamLag:
    waiting = max(0, size - stream.next_index)
    return StreamLag(waiting, _age(stream) if waiting else 0.0)


def _age(stream: SiemStream) -> float:
    leaf = LogLeaf.objects.filter(tenant_id=stream.tenant_id, log_index=stream.next_index).first()
    if leaf is None:
        return 0.0
    moment = (
        DecisionRow.objects.filter(pk=leaf.leaf_id).values_list("created_at", flat=True).first()
        or AuditEvent.objects.filter(pk=leaf.leaf_id).values_list("created_at", flat=True).first()
    )
    return max(0.0, (utcnow() - moment).total_seconds()) if moment else 0.0
