"""The page of one decision: its story, its proof, and the way to everything it names (E1, E2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import orjson
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from approvals.models import ApprovalRequest
from audit.access import Window
from audit.admin.window import window_for
from audit.amounts import amounts_of
from audit.clearance import CLASS_OF_VALUES
from audit.record_proof import proof_of
from audit.record_texts import StoredRecord, rows_of_decision
from audit.views_recorded import record_view
from contextos.adminkit.display import mode_badge
from contextos.adminkit.links import admin_url, may
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from gateway.admin.call_timeline import moment_of_row
from gateway.admin.frame import frame
from gateway.admin.labels import status_badge
from gateway.admin.links import (
    Link,
    bundle_link,
    call_url,
    link_to,
    pack_link,
    refusal_url,
    run_url,
    version_link,
)
from gateway.admin.record_story import Story, story_of
from gateway.admin.record_values import evidence_of, values_of
from gateway.explaining import Ref
from gateway.models import Run, ToolCall
from registry.recorded_rules import rule_descriptions

SURFACE = "admin"
DOWNLOAD = "admin-proof"


def record_page(request: HttpRequest, decision_id: str) -> HttpResponse:
    """Told from the record alone; pages of other rooms are only pointed at."""
    window, rows = _opened(request, decision_id, SURFACE)
    call = ToolCall.objects.filter(tenant_id=window.tenant_id, decision_id=decision_id).first()
    records = [row.record for row in rows if row.record]
    context = {
        **frame(request, "Record", above=(_search_url(), "Records")),
        "window": window,
        "decision_id": decision_id,
        "rows": [_shown_row(row) for row in rows],
        "proof": proof_of(rows),
        "proof_url": reverse("admin:gateway_record_proof", args=[decision_id]),
        "is_readable": bool(records),
        "may_replay": bool(records),
    }
    if records:
        context |= _told(request, window, records, call)
    return TemplateResponse(request, "gateway/record.html", context)


def record_proof_view(request: HttpRequest, decision_id: str) -> HttpResponse:
    """The texts and the proof as one file, to be checked elsewhere."""
    _, rows = _opened(request, decision_id, DOWNLOAD)
    document = {
        "decision_id": decision_id,
        "records": [row.text for row in rows],
        **proof_of(rows).document(),
    }
    body = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    response = HttpResponse(body, content_type="application/json")
    response["Content-Disposition"] = (
        f'attachment; filename="{rows[0].head.decision_id}-proof.json"'
    )
    response["Cache-Control"] = "private, no-store"
    return response


def _opened(
    request: HttpRequest, decision_id: str, surface: str
) -> tuple[Window, list[StoredRecord]]:
    """The rows, if the person may read them now; the look is recorded."""
    window = window_for(request)
    rows = rows_of_decision(tenant_id=window.tenant_id, decision_id=decision_id[:40])
    if not rows:
        raise Http404
    try:
        window.require(*(row.head.created_at for row in rows))
    except ContextOSError as refusal:
        raise PermissionDenied from refusal
    record_view(window=window, actor=actor_of(request), decision_id=decision_id, surface=surface)
    return window, rows


def _search_url() -> str:
    return reverse("admin:audit_decisionrow_changelist")


# --- the story -----------------------------------------------------------------------------------
def _told(
    request: HttpRequest,
    window: Window,
    records: Sequence[Mapping[str, Any]],
    call: ToolCall | None,
) -> dict[str, Any]:
    last = records[-1]
    story = story_of(records, _names(records))
    sees = window.reads(CLASS_OF_VALUES)
    return {
        "story": story,
        "status": status_badge(str(last.get("status"))),
        "mode": mode_badge(str((last.get("capability") or {}).get("mode_effective") or "")),
        "amount": _amount(window, str(last["decision_id"])) if sees else "",
        "moments": [moment_of_row(record) for record in records],
        "policy": _policy(request, window.tenant_id, last),
        "links": _links(request, window.tenant_id, last, call),
        "approvals": _approvals(request, window.tenant_id, story),
        "call_facts": _call_facts(call),
        "why_url": refusal_url(str(last["decision_id"])) if last.get("error") else "",
        "sees_values": sees,
        "values": values_of(window, last, call) if sees else [],
        "evidence": evidence_of(window, last, call),
    }


def _names(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Everybody the record names, by the name that people know."""
    last = records[-1]
    ids = {str(link.get("id")) for link in last.get("principal_chain") or ()}
    for approval in last.get("approvals") or ():
        for vote in approval.get("votes") or ():
            ids |= {str(vote.get("approver")), str(vote.get("on_behalf_of"))}
    return {user.user_id: str(user) for user in User.objects.filter(user_id__in=ids)}


def _amount(window: Window, decision_id: str) -> str:
    found = amounts_of(tenant_id=window.tenant_id, decision_ids=[decision_id]).get(decision_id)
    return "" if found is None else f"{found.amount.normalize():,f} {found.unit}".strip()


def _policy(request: HttpRequest, tenant_id: str, last: Mapping[str, Any]) -> dict[str, Any]:
    policy, lineage = last.get("policy_decision") or {}, last.get("lineage") or {}
    code, _, sentence = str(policy.get("reason") or "").partition(": ")
    refs = tuple(map(str, policy.get("bundle_versions") or ()))
    said = rule_descriptions(
        tenant_id=tenant_id,
        digests=[str(one.get("hash")) for one in lineage.get("policy_bundles") or ()],
    )
    rules = [str(rule) for rule in policy.get("matched_rule_ids") or ()]
    return {
        "was_asked": bool(policy),
        "allowed": bool(policy.get("allowed")),
        "reason": reveal_invisible(sentence or code),
        "rules": [
            {
                "link": link_to(request, tenant_id, Ref("rule", rule), bundles=refs),
                "says": reveal_invisible(said.get(rule, "")),
            }
            for rule in rules
        ],
        "gate": reveal_invisible(str(policy.get("requires_approval_gate") or "")),
        "quorum": policy.get("quorum"),
        "bundles": [
            Link(reveal_invisible(ref), bundle_link(request, tenant_id, ref)) for ref in refs
        ],
    }


def _approvals(request: HttpRequest, tenant_id: str, story: Story) -> list[dict[str, Any]]:
    ids = [told.approval_id for told in story.approvals if told.approval_id]
    known: set[str] = set()
    if ids and may(request, "view", ApprovalRequest):
        rows = ApprovalRequest.objects.filter(tenant_id=tenant_id, pk__in=ids)
        known = set(rows.values_list("pk", flat=True))
    return [
        {
            "told": told,
            "url": admin_url(ApprovalRequest, "change", told.approval_id)
            if told.approval_id in known
            else "",
        }
        for told in story.approvals
    ]


def _links(
    request: HttpRequest, tenant_id: str, last: Mapping[str, Any], call: ToolCall | None
) -> list[tuple[str, Link]]:
    """Everything the record names that has a page, and what has none by its name."""
    lineage, capability = last.get("lineage") or {}, last.get("capability") or {}
    adapter = f"{lineage.get('adapter_id')}@{lineage.get('adapter_version')}"
    pack, run_id = str(lineage.get("pack_ref") or ""), str(last.get("run_id") or "")
    found = [
        (
            "Call",
            Link(call.pk, call_url(call.pk)) if call and may(request, "view", ToolCall) else None,
        ),
        ("Run", Link(run_id, run_url(run_id)) if run_id and may(request, "view", Run) else None),
        ("Capability", link_to(request, tenant_id, Ref("capability", str(capability.get("id"))))),
        (
            "Manifest",
            Link(reveal_invisible(adapter), version_link(request, tenant_id, adapter))
            if lineage.get("adapter_id")
            else None,
        ),
        (
            "Context Pack",
            Link(reveal_invisible(pack), pack_link(request, tenant_id, pack)) if pack else None,
        ),
        ("Trace", _trace_link(str(last.get("trace_id") or ""))),
        (
            "Session",
            Link(reveal_invisible(str(last["session_id"]))) if last.get("session_id") else None,
        ),
        ("Build", Link(reveal_invisible(str(lineage.get("runtime_build") or "")))),
    ]
    return [(title, link) for title, link in found if link is not None and link.text]


def _trace_link(trace_id: str) -> Link:
    """Everything that was decided under the same trace."""
    return Link(trace_id, f"{_search_url()}?{urlencode({'trace': trace_id})}" if trace_id else "")


def _call_facts(call: ToolCall | None) -> list[tuple[str, str]]:
    """What the result envelope adds to the record."""
    if call is None or not call.result:
        return []
    try:
        result = strict_json.loads_object(call.result)
    except ContextOSError:
        return []
    metrics: Any = result.get("metrics") or {}
    found = [
        ("Upstream status", metrics.get("upstream_status")),
        ("Latency", f"{result['latency_ms']} ms" if result.get("latency_ms") is not None else None),
        ("Retries", metrics.get("retry_count")),
    ]
    return [(title, reveal_invisible(str(value))) for title, value in found if value is not None]


def _shown_row(row: StoredRecord) -> dict[str, Any]:
    return {
        "seq": row.head.seq,
        "status": row.head.status,
        "at": row.head.created_at,
        "log_index": row.log_index,
        "text": reveal_invisible(row.text),
    }
