"""Audit's part of the front page: what happened last in this tenant."""

from __future__ import annotations

from django.http import HttpRequest

from audit.actions import title_of
from audit.models import AuditEvent
from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant, rows_of_tenant
from contextos.core.strict_json import loads_object
from contextos.core.text import single_line
from contextos.identity.models import User

SHOWN = 8


def recent_events(request: HttpRequest) -> Panel | None:
    """The latest events that the person may read."""
    if not may(request, "view", AuditEvent):
        return None
    rows = rows_of_tenant(AuditEvent.objects.all(), "tenant_id", acting_tenant(request))
    events = list(rows[:SHOWN])
    names = _people(events)
    return Panel(
        "",
        [_row(event, names) for event in events],
        more_url=admin_url(AuditEvent),
        more_text="Open the whole record",
    )


def _people(events: list[AuditEvent]) -> dict[str, str]:
    ids = {event.subject_id for event in events if event.subject_kind == "user"}
    known = User.objects.filter(user_id__in=ids).values_list("user_id", "username")
    return dict(known)


def _row(event: AuditEvent, names: dict[str, str]) -> Row:
    subject = names.get(event.subject_id, event.subject_id)
    kind = "person" if event.subject_kind == "user" else event.subject_kind.replace("_", " ")
    return Row(
        text=title_of(event.action),
        detail=f"{kind} {subject}, by {_who(event)}, {relative(event.created_at)}",
        url=admin_url(AuditEvent, "change", event.pk),
    )


def _who(event: AuditEvent) -> str:
    actor = loads_object(event.text).get("actor")
    shown = actor.get("display") if isinstance(actor, dict) else None
    return single_line(str(shown or event.actor_id), limit=80)


register_panel(key="audit.recent", column="activity", build=recent_events, order=10)
