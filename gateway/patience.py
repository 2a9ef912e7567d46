"""`Prefer: wait=N`: a few callers per process may wait for the end, the others come back."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Collection

from django.conf import settings
from django.db.models import Q

from gateway.models import ToolCall
from gateway.states import CallState

LONGEST_WAIT = 30.0
_FIRST_LOOK, _LONGEST_PAUSE = 0.02, 0.25
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=$|[,;\s])", re.IGNORECASE)
_worth_telling = ~Q(result="") | Q(state=CallState.INPUT_REQUIRED)
_places = threading.BoundedSemaphore(settings.CALL_WAITERS)


def wait_preference(header: str | None) -> float:
    """The seconds of a `Prefer` header (RFC 7240), at most 30; 0 where none are asked for."""
    found = _WAIT.search(header or "")
    return min(LONGEST_WAIT, float(found[1])) if found else 0.0


def wait_for_end(tool_call_id: str, *, seconds: float) -> ToolCall | None:
    """The call once it has a result, needs the caller, or the time is up; None = no free place."""
    if not _places.acquire(blocking=False):
        return None
    try:
        return _watched(tool_call_id, until=time.monotonic() + seconds)
    finally:
        _places.release()


def ended_among(tool_call_ids: Collection[str]) -> list[str]:
    """Those that have ended or ask their caller something, in one statement."""
    rows = ToolCall.objects.filter(_worth_telling, pk__in=tool_call_ids)
    return list(rows.values_list("pk", flat=True))


def _watched(tool_call_id: str, *, until: float) -> ToolCall:
    pause = _FIRST_LOOK
    while True:
        ended = ToolCall.objects.filter(_worth_telling, pk=tool_call_id).exists()
        left = until - time.monotonic()
        if ended or left <= 0:
            return ToolCall.objects.get(pk=tool_call_id)
        time.sleep(min(pause, left))
        pause = min(_LONGEST_PAUSE, pause * 1.5)
