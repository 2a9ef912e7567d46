"""Counts what the log has gained, in steps that are taken once whoever takes them (E5).

A step moves the tenant's cursor by compare-and-set and adds its counts in the same transaction:
two processes at once can't count a row twice, and a crash leaves it for the next round. The log's
own order is followed, so a row that was committed late is met when it gets its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

import structlog
from django.db import transaction
from django.db.models import F

from audit.following import sealed_from
from contextos.core.clock import utcnow
from contextos.identity.models import Tenant
from gateway.figures.counting import EVERYTHING, Counted, Place
from gateway.figures.replays import compared, tell_of_differences, waiting_replays
from gateway.figures.rows import counted_of
from gateway.figures.spans import GRAINS, Span, spans_of
from gateway.models import FiguresCursor, ReplayAnswer, Tally

log = structlog.get_logger(__name__)
AT_ONCE = 1000
MOST_STEPS = 50  # of one tenant in one round, so that the others have their turn


@dataclass(frozen=True, slots=True)
class _Key:
    """One row of the counts."""

    span: Span
    place: Place
    measure: str


def roll_up() -> int:
    """Count what is new in every tenant's log; how many steps were taken."""
    steps = 0
    for tenant_id in Tenant.objects.order_by("pk").values_list("pk", flat=True):
        try:
            steps += _rolled(tenant_id)
        except Exception:
            log.exception("a tenant's figures could not be counted", tenant_id=tenant_id)
    return steps


def _rolled(tenant_id: str) -> int:
    for step in range(MOST_STEPS):
        if not roll_step(tenant_id):
            return step
    return MOST_STEPS


def roll_step(tenant_id: str) -> bool:
    """One step of one tenant; False when nothing is new or another process took it."""
    cursor = cursor_of(tenant_id)
    leaves = sealed_from(tenant_id, cursor.next_index, most=AT_ONCE)
    replays = waiting_replays(tenant_id, most=AT_ONCE)
    if not leaves and not replays:
        return False
    found = compared(replays)
    counts = chain(counted_of(leaf.leaf_id for leaf in leaves), *(r.counted() for r in found))
    added = _added(counts)
    with transaction.atomic():
        if not _moved(cursor, leaves[-1].log_index + 1 if leaves else cursor.next_index):
            return False
        _add(tenant_id, added)
        tell_of_differences(found)
        ReplayAnswer.objects.filter(pk__in=[replay.pk for replay in replays]).delete()
    return True


def cursor_of(tenant_id: str) -> FiguresCursor:
    """Where the counts of a tenant stand; nothing is written for one who was never counted."""
    row = FiguresCursor.objects.filter(pk=tenant_id).first()
    return row or FiguresCursor(tenant_id=tenant_id, next_index=0, turn=0)


def forget_fine_spans(now: datetime) -> int:
    """Drop short spans past their time; the longer ones have the same counts."""
    dropped = 0
    for grain in GRAINS:
        if grain.kept is not None:
            old = Tally.objects.filter(grain=grain.seconds, starts_at__lt=now - grain.kept)
            dropped += old.delete()[0]
    return dropped


def _moved(cursor: FiguresCursor, next_index: int) -> bool:
    """From here on the row is ours until the transaction ends; False when somebody was faster."""
    moment = utcnow()
    if cursor._state.adding:
        made = FiguresCursor.objects.bulk_create(
            [FiguresCursor(tenant_id=cursor.tenant_id, moved_at=moment)], ignore_conflicts=True
        )
        cursor = made[0]
    rows = FiguresCursor.objects.filter(
        pk=cursor.tenant_id, turn=cursor.turn, next_index=cursor.next_index
    )
    return bool(rows.update(next_index=next_index, turn=F("turn") + 1, moved_at=moment))


def _added(counts: Iterable[Counted]) -> Counter[_Key]:
    added: Counter[_Key] = Counter()
    for count in counts:
        for span in spans_of(count.at):
            for place in (count.place, EVERYTHING):
                added[_Key(span, place, count.measure)] += count.value
    return added


def _add(tenant_id: str, added: Counter[_Key]) -> None:
    """Only the holder of the cursor writes, so reading and writing back loses nothing."""
    if not added:
        return
    before = _before(tenant_id, added)
    Tally.objects.bulk_create(
        [
            Tally(
                tenant_id=tenant_id,
                grain=key.span.grain,
                starts_at=key.span.starts_at,
                adapter_id=key.place.adapter_id,
                capability_id=key.place.capability_id,
                measure=key.measure,
                value=before.get(key, 0) + value,
            )
            for key, value in added.items()
        ],
        batch_size=500,
        update_conflicts=True,
        unique_fields=[
            "tenant",
            "grain",
            "starts_at",
            "adapter_id",
            "capability_id",
            "measure",
        ],
        update_fields=["value"],
    )


def _before(tenant_id: str, added: Counter[_Key]) -> dict[_Key, int]:
    rows = Tally.objects.filter(
        tenant_id=tenant_id,
        grain__in={key.span.grain for key in added},
        starts_at__in={key.span.starts_at for key in added},
        capability_id__in={key.place.capability_id for key in added},
    )
    columns = ("grain", "starts_at", "adapter_id", "capability_id", "measure", "value")
    return {
        _Key(Span(grain, start), Place(adapter, capability), measure): value
        for grain, start, adapter, capability, measure, value in rows.values_list(*columns)
    }
