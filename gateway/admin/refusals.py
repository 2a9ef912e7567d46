"""Refused calls: the list of recent ones, and the page that explains one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from audit.admin.window import require_within, within_window
from audit.decisions import rows_of
from audit.models import DecisionRow
from audit.payloads import find_payload
from audit.record_texts import texts_of
from contextos.core import strict_json
from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError, catalogue, spec_for
from contextos.core.text import reveal_invisible, single_line
from gateway.admin.access import may_read_values, tenant_of
from gateway.admin.call_page import declared_capability
from gateway.admin.frame import asked_for, frame
from gateway.admin.keyset import PER_PAGE, next_address
from gateway.admin.labels import on_behalf, status_badge
from gateway.admin.links import call_url, link_to, refusal_url
from gateway.admin.people import person_name, with_person
from gateway.admin.replaying import may_replay
from gateway.admin.surroundings import today_for
from gateway.admin.values import ShownValue, pretty, shown_value
from gateway.explaining import Explanation, Ref, Refused, Step, explain, explained_codes
from gateway.models import ToolCall
from registry.models import AdapterVersion

MAX_BODY = 4 * 1024 * 1024
EXPLAINED = ("REJECTED", "FAILED", "UNKNOWN", "EXPIRED", "CANCELLED")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the list is narrowed to."""

    code: str = ""
    capability: str = ""
    agent: str = ""
    after: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> _Wanted:
        return cls(**{name: asked_for(request, name) for name in cls.__slots__})

    @property
    def is_narrowed(self) -> bool:
        return bool(self.code or self.capability or self.agent)


# --- the list ------------------------------------------------------------------------------------
def refusals_view(request: HttpRequest) -> HttpResponse:
    """Newest first; an id typed in leads to its page."""
    tenant_id = tenant_of(request)
    typed = asked_for(request, "decision", longest=40)
    if typed:
        found = _decision_of(tenant_id, typed)
        if found:
            return HttpResponseRedirect(refusal_url(found))
    wanted = _Wanted.of(request)
    shown, cursor = _newest(request, tenant_id, wanted)
    context = frame(
        request,
        "Refusals",
        rows=shown,
        next_url=next_address(request, cursor) if cursor else "",
        wanted=wanted,
        codes=_codes(),
        typed=reveal_invisible(typed),
    )
    return TemplateResponse(request, "gateway/refusals.html", context)


def _decision_of(tenant_id: str, typed: str) -> str:
    """The decision meant by its own id or by that of its call."""
    if typed.startswith("tool_"):
        rows = ToolCall.objects.filter(tenant_id=tenant_id, pk=typed)
        return rows.values_list("decision_id", flat=True).first() or ""
    heads = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id=typed)
    return typed if heads.exists() else ""


def _codes() -> list[tuple[str, str]]:
    known = {spec.code: spec.title for spec in catalogue()}
    return [(code, known[code]) for code in sorted(explained_codes()) if code in known]


def _newest(
    request: HttpRequest, tenant_id: str, wanted: _Wanted
) -> tuple[list[dict[str, Any]], str]:
    """A page of rows, and the cursor of the next."""
    found = list(within_window(request, _heads(tenant_id, wanted))[: PER_PAGE + 1])
    cursor = found[PER_PAGE - 1].pk if len(found) > PER_PAGE else ""
    return [_row(head, text) for head, text in _with_texts(found[:PER_PAGE])], cursor


def _heads(tenant_id: str, wanted: _Wanted) -> QuerySet[DecisionRow]:
    rows = DecisionRow.objects.filter(tenant_id=tenant_id, status="REJECTED").defer("leaf_hash")
    columns = {
        "capability_id": wanted.capability,
        "agent_id": wanted.agent,
        "error_code": wanted.code,
    }
    rows = rows.filter(**{name: value for name, value in columns.items() if value})
    if wanted.after:
        rows = rows.filter(pk__lt=wanted.after)
    return with_person(rows.order_by("-record_id"))


def _with_texts(heads: list[DecisionRow]) -> list[tuple[DecisionRow, dict[str, Any]]]:
    """Each head with its record."""
    texts = texts_of(heads)
    return [(head, _record(texts.get(head.pk, ""))) for head in heads]


def _record(text: str) -> dict[str, Any]:
    try:
        return dict(strict_json.loads_object(text, max_bytes=MAX_BODY)) if text else {}
    except ContextOSError:
        return {}


def _row(head: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    error = record.get("error") or {}
    return {
        "url": refusal_url(head.decision_id),
        "id": head.decision_id,
        "at": head.created_at,
        "capability": single_line(head.capability_id, limit=120),
        "who": on_behalf(head.agent_id, head.user_name or head.user_id),
        "intent": single_line(head.intent, limit=80),
        "code": single_line(str(error.get("code") or "not recorded"), limit=80),
        "message": single_line(str(error.get("message") or ""), limit=160),
        "repeats": record.get("repeat_count", 1),
    }


# --- one refusal ---------------------------------------------------------------------------------
def refusal_view(request: HttpRequest, decision_id: str) -> HttpResponse:
    """Which step said no, why, and what would allow it."""
    tenant_id = tenant_of(request)
    rows = rows_of(tenant_id=tenant_id, decision_id=decision_id)
    told = [row for row in rows if row.get("status") in EXPLAINED and row.get("error")]
    if not told:
        raise Http404
    require_within(request, *(parse_time(str(row["created_at"])) for row in rows))
    record = told[-1]
    refused = Refused.from_record(record)
    found = explain(refused, today_for(tenant_id, refused))
    context = {
        **frame(
            request,
            "Why was this refused?" if record["status"] == "REJECTED" else "Why did this fail?",
            above=(reverse("admin:gateway_refusals"), "Refusals"),
        ),
        "record": record,
        "at": parse_time(str(record["created_at"])),
        "refused": _shown(refused),
        "status": status_badge(str(record["status"])),
        "title_of_code": _title(refused.code),
        "explanation": found,
        **_links(request, tenant_id, refused, found),
        "steps": _steps(found.step),
        "who": on_behalf(refused.agent_id, person_name(refused.user_id)),
        "args": _args(request, tenant_id, decision_id, refused),
        "sees_values": may_read_values(request),
        "may_replay": may_replay(request, tenant_id),
        "call_url": _call_of(tenant_id, decision_id),
        "text": pretty(record),
    }
    return TemplateResponse(request, "gateway/refusal.html", context)


def _shown(refused: Refused) -> dict[str, str]:
    names = ("code", "capability_id", "agent_id", "run_id", "intent")
    return {name: reveal_invisible(str(getattr(refused, name))) for name in names}


def _title(code: str) -> str:
    try:
        return spec_for(code).title
    except LookupError:
        return "The adapter's own code"


def _links(
    request: HttpRequest, tenant_id: str, refused: Refused, found: Explanation
) -> dict[str, Any]:
    def link(ref: Ref | None) -> Any:
        return link_to(request, tenant_id, ref, bundles=refused.bundles) if ref else None

    return {
        "ways": [(way, link(way.ref)) for way in found.ways],
        "involved": [link(ref) for ref in dict.fromkeys(found.involved) if ref.text],
        "run_link": link(refused.run),
    }


def _steps(stopped: Step) -> list[dict[str, Any]]:
    """The way of a call: what it passed, where it ended, what was never asked."""
    return [
        {
            "number": step.number,
            "title": step.title,
            "question": step.question,
            "state": "passed"
            if step.number < stopped.number
            else "stopped"
            if step is stopped
            else "unasked",
        }
        for step in Step
    ]


def _args(
    request: HttpRequest, tenant_id: str, decision_id: str, refused: Refused
) -> ShownValue | None:
    if not may_read_values(request):
        return None
    try:
        value = find_payload(tenant_id=tenant_id, decision_id=decision_id, kind="args")
    except ContextOSError as fault:
        return ShownValue(fault=f"{fault.message} {fault.remediation}")
    return None if value is None else shown_value(value, _input_schema(tenant_id, refused))


def _input_schema(tenant_id: str, refused: Refused) -> Any:
    """Says which arguments are secret, where the call came as far as a version."""
    rows = AdapterVersion.objects.filter(tenant_id=tenant_id, version=refused.adapter_version)
    found = rows.filter(adapter__adapter_id=refused.adapter_id).values_list("pk", flat=True).first()
    declared = declared_capability(found, refused.capability_id) if found else None
    return declared.input_schema if declared else None


def _call_of(tenant_id: str, decision_id: str) -> str:
    rows = ToolCall.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    found = rows.values_list("pk", flat=True).first()
    return call_url(found) if found else ""
