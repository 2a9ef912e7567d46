"""Audit's part of the front page: what happened last in this tenant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from audit.actions import title_of
from audit.admin.window import within_window
from audit.lag import SealingLag, failing_places, sealing_lags
from audit.models import AuditEvent, OutsideMark
from audit.selectors import told_by
from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant, rows_of_tenant
from contextos.core.text import single_line
from contextos.identity.models import User

SHOWN = 8
_MADE_ID = re.compile(r"[a-z]+_[0-9a-z]{26}")
# Members of an event that name a thing in words, the most telling first.
_WORDS = ("title", "name", "capability_id", "intent", "gate", "gate_id", "adapter_id", "role")


def recent_events(request: HttpRequest) -> Panel | None:
    """The latest events that the person may read."""
    if not may(request, "view", AuditEvent):
        return None
    rows = rows_of_tenant(AuditEvent.objects.all(), "tenant_id", acting_tenant(request))
    try:
        events = list(within_window(request, rows)[:SHOWN])
    except PermissionDenied:  # nobody has said yet what this auditor may read
        return None
    names = _people(events)
    return Panel(
        "",
        [_row(event, names) for event in events],
        more_url=admin_url(AuditEvent),
        more_text="Open the whole record",
    )


def late_sealing(request: HttpRequest) -> Panel | None:
    """Records that wait too long for the sealer, and checkpoints nobody outside keeps."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", AuditEvent):
        return None
    tenant_id = str(tenant.pk)
    late = [lag for lag in sealing_lags(tenant_id=tenant_id) if lag.is_late]
    failing = [mark for mark in failing_places() if mark.tenant_id == tenant_id]
    return Panel("The log", [*map(_late, late), *map(_failing, failing)])


def _late(lag: SealingLag) -> Row:
    return Row(
        text="Records wait for the sealer",
        detail=f"oldest {relative(lag.since)}; check that `manage.py seal` runs",
        label="not sealed",
        tone="danger",
    )


def _failing(mark: OutsideMark) -> Row:
    since = relative(mark.failed_at) if mark.failed_at else ""
    return Row(
        text=f"Checkpoints are not kept outside ({mark.sink})",
        detail=f"{since}; {single_line(mark.fault, limit=120)}",
        label="kept inside only",
        tone="danger",
    )


def _people(events: list[AuditEvent]) -> dict[str, str]:
    ids = {event.subject_id for event in events if event.subject_kind == "user"}
    ids |= {event.actor_id for event in events if event.actor_kind == "user"}
    return {user.user_id: str(user) for user in User.objects.filter(user_id__in=ids)}


def _row(event: AuditEvent, names: dict[str, str]) -> Row:
    told = told_by(event)
    who = single_line(names.get(event.actor_id) or told.who, limit=80)
    return Row(
        text=title_of(event.action),
        detail=f"{_about(event, told.data, names)}, by {who}, {relative(event.created_at)}",
        url=admin_url(AuditEvent, "change", event.pk),
    )


def _about(event: AuditEvent, said: Mapping[str, Any], names: dict[str, str]) -> str:
    """What it was about, in words where the event has some: ids stand in the record itself."""
    kind = "person" if event.subject_kind == "user" else event.subject_kind.replace("_", " ")
    subject = names.get(event.subject_id, event.subject_id)
    if _MADE_ID.fullmatch(subject):
        subject = next((str(said[key]) for key in _WORDS if said.get(key)), "")
    return single_line(f"{kind} {subject}".strip(), limit=120)


register_panel(key="audit.sealing", column="failing", build=late_sealing, order=5)
register_panel(key="audit.recent", column="activity", build=recent_events, order=10)
