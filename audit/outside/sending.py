"""Which checkpoints each place outside the database has, and sending it the others.

The mark moves on after the place has them, so a crash in between sends one twice and none never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import structlog
from django.conf import settings

from audit.models import Checkpoint, LogHead, OutsideMark
from audit.outside import files
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.text import single_line

log = structlog.get_logger(__name__)
AT_ONCE = 500
FILES = "file"

Send = Callable[[Sequence[Checkpoint]], None]


def write_files(tenant_id: str) -> int:
    """Add to the tenant's file whatever it lacks; how many checkpoints."""
    return send_new(FILES, tenant_id, send_to_files, newest_only=False)


def send_to_files(checkpoints: Sequence[Checkpoint]) -> None:
    """Into the folder of the settings; a disk that says no is a coded error."""
    try:
        files.append(Path(settings.CHECKPOINTS_DIR), checkpoints)
    except OSError as fault:
        said = f"The checkpoint file can't be written: {fault.strerror}."
        raise coded_error("checkpoint.not_kept", message=said) from fault


def send_new(sink: str, tenant_id: str, send: Send, *, newest_only: bool) -> int:
    """What a place does not have yet; the newest vouches for all before it. How many were sent."""
    mark = OutsideMark.objects.filter(sink=sink, tenant_id=tenant_id).first()
    sent = 0
    while rows := _new(tenant_id, mark.checkpoint_id if mark else 0, newest_only=newest_only):
        try:
            send(rows)
        except ContextOSError as fault:
            _note_failure(sink, tenant_id, mark, fault)
            return sent
        mark, sent = _moved(sink, rows[-1]), sent + len(rows)
        if newest_only or len(rows) < AT_ONCE:
            break
    return sent


def tenants_behind(sink: str) -> list[str]:
    """Tenants whose newest checkpoint a place does not have, as far as the heads tell."""
    rows = OutsideMark.objects.filter(sink=sink).values_list("tenant_id", "tree_size", "sent_at")
    marks = {tenant_id: (size, sent_at) for tenant_id, size, sent_at in rows}
    heads = LogHead.objects.filter(tree_size__gt=0).order_by("tenant_id")
    return [head.tenant_id for head in heads if _is_behind(head, marks.get(head.tenant_id))]


def _is_behind(head: LogHead, mark: tuple[int, datetime] | None) -> bool:
    if mark is None or mark[0] < head.tree_size:
        return True
    return head.sealed_at is not None and head.sealed_at > mark[1]  # signed anew by another key


def _new(tenant_id: str, after: int, *, newest_only: bool) -> list[Checkpoint]:
    rows = Checkpoint.objects.filter(tenant_id=tenant_id, pk__gt=after)
    return list(rows.order_by("-pk")[:1] if newest_only else rows.order_by("pk")[:AT_ONCE])


def _moved(sink: str, last: Checkpoint) -> OutsideMark:
    mark, _ = OutsideMark.objects.update_or_create(
        sink=sink,
        tenant_id=last.tenant_id,
        defaults={
            "checkpoint_id": last.pk,
            "tree_size": last.tree_size,
            "sent_at": utcnow(),
            "failed_at": None,
            "fault": "",
        },
    )
    return mark


def _note_failure(
    sink: str, tenant_id: str, mark: OutsideMark | None, fault: ContextOSError
) -> None:
    now = utcnow()
    if mark is None or mark.failed_at is None:  # once, not every round
        log.error("checkpoints not kept outside", sink=sink, tenant_id=tenant_id, code=fault.code)
    said = single_line(f"{fault.code}: {fault.message}", limit=200)
    if mark is not None:
        since = mark.failed_at or now
        OutsideMark.objects.filter(pk=mark.pk).update(failed_at=since, fault=said)
        return
    first = OutsideMark(
        sink=sink,
        tenant_id=tenant_id,
        checkpoint_id=0,
        tree_size=0,
        sent_at=now,
        failed_at=now,
        fault=said,
    )
    OutsideMark.objects.bulk_create([first], ignore_conflicts=True)
