"""What became of a call made on the first-call page: its answer, or why not and what would do."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from audit.decisions import rows_of
from gateway.admin.call_page import call_context
from gateway.admin.links import call_url, link_to, refusal_url
from gateway.admin.surroundings import today_for
from gateway.admin.values import pretty
from gateway.explaining import Refused, explain
from gateway.models import ToolCall


def made_call(request: HttpRequest, tenant_id: str, decision_id: str) -> dict[str, Any] | None:
    """Everything about one decision of this tenant; None for any other."""
    rows = rows_of(tenant_id=tenant_id, decision_id=decision_id) if decision_id else []
    if not rows:
        return None
    call = ToolCall.objects.filter(tenant_id=tenant_id, decision_id=decision_id).first()
    last = rows[-1]
    return {
        "decision_id": decision_id,
        "record": last,
        "record_text": pretty(last),
        "page": call_context(request, call) if call else None,
        "call_url": call_url(call.pk) if call else "",
        "why": _explained(request, tenant_id, last) if last.get("error") else None,
        "why_url": refusal_url(decision_id) if last.get("error") else "",
    }


def _explained(request: HttpRequest, tenant_id: str, record: dict[str, Any]) -> dict[str, Any]:
    refused = Refused.from_record(record)
    found = explain(refused, today_for(tenant_id, refused))
    ways = [
        (way, link_to(request, tenant_id, way.ref, bundles=refused.bundles) if way.ref else None)
        for way in found.ways
    ]
    return {"explanation": found, "code": refused.code, "ways": ways}
