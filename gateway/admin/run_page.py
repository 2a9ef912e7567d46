"""Everything the page of one run shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from contextos.adminkit.display import mode_badge
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from gateway.admin.access import may_read_values
from gateway.admin.budget import bars_of
from gateway.admin.labels import age, state_badge, waiting_words, write_badge
from gateway.admin.links import call_url, calls_url, link_to, pack_link, refusal_url, version_link
from gateway.admin.people import person_name
from gateway.admin.surroundings import pack_refs
from gateway.admin.values import shown_value
from gateway.budgets import being_waited
from gateway.explaining import Ref
from gateway.models import Run, ToolCall
from gateway.runs import compiled_run
from registry.compiled import CompiledRun
from registry.labels import class_badge

MOST_CALLS = 50
MOST_CAPABILITIES = 200


def run_context(request: HttpRequest, run: Run) -> dict[str, Any]:
    """The run, its budget, its calls, and what it may call."""
    now = timezone.now()
    return {
        "run": run,
        "is_over": now >= run.expires_at,
        "mode": mode_badge(run.safety_mode),
        "bars": bars_of(run, now, being_waited(run, now)),
        "chain": _chain(run),
        "user_name": person_name(run.user_id),
        "agent_link": link_to(request, run.tenant_id, Ref("agent", run.agent_id)),
        "packs": [(ref, pack_link(request, run.tenant_id, ref)) for ref in pack_refs(run)],
        "pins": [_pin(request, run, *pin) for pin in sorted(run.pins.items())],
        "free_context": _free_context(request, run),
        **_calls(run),
        **_manifest(request, run),
    }


def _chain(run: Run) -> list[str]:
    links = run.document.get("principal_chain") or []
    return [
        single_line(f"{link.get('kind')} {link.get('display') or link.get('id')}", limit=200)
        for link in links
    ]


def _pin(request: HttpRequest, run: Run, adapter_id: str, version: str) -> tuple[str, str]:
    name = f"{adapter_id}@{version}"
    return reveal_invisible(name), version_link(request, run.tenant_id, name)


def _free_context(request: HttpRequest, run: Run) -> Any:
    given = run.document.get("context")
    return shown_value(given) if given and may_read_values(request) else None


def _calls(run: Run) -> dict[str, Any]:
    rows = ToolCall.objects.filter(run=run).defer("envelope", "result").order_by("-tool_call_id")
    found = list(rows[: MOST_CALLS + 1])
    return {
        "calls": [_call_row(call) for call in found[:MOST_CALLS]],
        "more_calls_url": calls_url(q=run.pk) if len(found) > MOST_CALLS else "",
    }


def _call_row(call: ToolCall) -> dict[str, Any]:
    return {
        "url": call_url(call.pk),
        "id": call.pk,
        "capability": reveal_invisible(call.capability_id),
        "state": state_badge(call.state),
        "mode": mode_badge(call.mode_effective),
        "write": write_badge(call),
        "attempts": call.attempts,
        "waiting": waiting_words(call),
        "error": reveal_invisible(call.error_code),
        "why_url": refusal_url(call.decision_id) if call.error_code else "",
        "at": call.created_at,
        "took": age(call.created_at, call.finished_at),
    }


# --- what it may call ----------------------------------------------------------------------------
def _manifest(request: HttpRequest, run: Run) -> dict[str, Any]:
    try:
        compiled = compiled_run(run)
    except ContextOSError as refusal:
        return {"manifest_fault": f"{refusal.message} {refusal.remediation}"}
    permitted = sorted(compiled.permitted)[:MOST_CAPABILITIES]
    refused = [
        (name, item.why_not) for name, item in sorted(compiled.named.items()) if item.why_not
    ]
    return {
        "manifest_hash": compiled.manifest_hash,
        "blocked": compiled.blocked,
        "permitted": []
        if compiled.blocked
        else [_permitted_row(request, run, compiled, name) for name in permitted],
        "refused": [
            {
                "name": reveal_invisible(name),
                "code": why.code,
                "message": reveal_invisible(why.message),
            }
            for name, why in refused[:MOST_CAPABILITIES]
        ],
    }


def _permitted_row(
    request: HttpRequest, run: Run, compiled: CompiledRun, name: str
) -> dict[str, Any]:
    capability = compiled.permitted[name].capability
    grants = compiled.permitted[name].grants
    return {
        "name": reveal_invisible(name),
        "class_label": class_badge(capability.capability_class.value),
        "mode": mode_badge(capability.approval_mode.value),
        "adapter": reveal_invisible(f"{capability.adapter_id}@{capability.version}"),
        "by": [single_line(grant.permission_id, limit=120) for grant in grants],
        "key": capability.requires_idempotency_key,
    }
