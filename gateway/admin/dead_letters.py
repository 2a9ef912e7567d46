"""Dead letters: calls that were given up after every attempt, and what to do about them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from audit.admin.window import within_window
from contextos.adminkit.display import mode_badge
from contextos.core.text import reveal_invisible
from gateway.admin.access import tenant_of
from gateway.admin.frame import frame
from gateway.admin.keyset import page_of
from gateway.admin.labels import on_behalf, state_badge
from gateway.admin.links import call_url, refusal_url
from gateway.admin.people import with_person
from gateway.explaining import Refused, Today, explain
from gateway.models import ToolCall


def dead_letters_view(request: HttpRequest) -> HttpResponse:
    """Newest first."""
    rows = ToolCall.objects.filter(tenant_id=tenant_of(request), dead_letter=True)
    rows = within_window(request, rows)
    page = page_of(request, with_person(rows.defer("envelope", "result")))
    context = frame(request, "Dead letters", page=page, rows=[_row(call) for call in page.rows])
    return TemplateResponse(request, "gateway/dead_letters.html", context)


def _row(call: Any) -> dict[str, Any]:
    advice = explain(Refused(code=call.error_code, capability_id=call.capability_id), Today())
    return {
        "url": call_url(call.pk),
        "why_url": refusal_url(call.decision_id),
        "id": call.pk,
        "capability": reveal_invisible(call.capability_id),
        "state": state_badge(call.state),
        "mode": mode_badge(call.mode_effective),
        "who": on_behalf(call.agent_id, call.user_name or call.user_id),
        "adapter": reveal_invisible(f"{call.adapter_id}@{call.adapter_version}"),
        "tried": _tried(call),
        "code": reveal_invisible(call.error_code),
        "headline": advice.headline,
        "ways": list(advice.ways)[:2],
        "at": call.finished_at or call.created_at,
    }


def _tried(call: ToolCall) -> str:
    """What was done before it was given up."""
    parts = [_counted(call.attempts, "attempt"), _counted(call.polls, "poll")]
    lost = _counted(call.losses, "lost worker")
    return ", ".join(part for part in (*parts, lost) if part) or "nothing was started"


def _counted(number: int, noun: str) -> str:
    if not number:
        return ""
    return f"{number} {noun}{'' if number == 1 else 's'}"
