"""The upward wire to the log: identity lies below audit and so names it only in the settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from contextos.core.events import Actor, EventRecorder


@cache
def _recorder(path: str) -> EventRecorder:
    try:
        found = import_string(path)
    except ImportError as fault:
        raise ImproperlyConfigured(
            f"CONTEXTOS_EVENT_RECORDER names {path!r}, which can't be imported: {fault}. "
            "Without a recorder nothing may change."
        ) from fault
    if not callable(found):
        raise ImproperlyConfigured(
            f"CONTEXTOS_EVENT_RECORDER names {path!r}, which is no callable."
        )
    return cast(EventRecorder, found)


def recorder() -> EventRecorder:
    """The recorder named in the settings; none at all is a reason not to start."""
    path = getattr(settings, "CONTEXTOS_EVENT_RECORDER", "")
    if not path:
        raise ImproperlyConfigured("CONTEXTOS_EVENT_RECORDER is not set: nothing may change.")
    return _recorder(path)


def record_event(
    *,
    tenant_id: str,
    action: str,
    actor: Actor,
    subject_kind: str,
    subject_id: str,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
    trace_id: str | None = None,
) -> None:
    """Record a change. Call it inside the change's transaction: no record, no effect."""
    recorder()(
        tenant_id=tenant_id,
        action=action,
        actor=actor,
        subject_kind=subject_kind,
        subject_id=subject_id,
        reason=reason,
        data=data,
        trace_id=trace_id,
    )
