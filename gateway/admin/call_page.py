"""Everything the page of one call shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest
from django.urls import reverse

from audit.admin.matching import may_see_salts
from audit.decisions import rows_of
from audit.models import Erasure, Payload
from audit.payloads import open_payload
from contextos.adminkit.display import mode_badge
from contextos.adminkit.links import admin_url, may
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.review.timeline import timeline_of
from gateway.admin.access import may_correct_modes, may_read_values, may_settle
from gateway.admin.call_timeline import AttemptSeen, moments_of
from gateway.admin.labels import age, money, state_badge, waiting_words, write_badge
from gateway.admin.links import bundle_link, link_to, pack_link, refusal_url, run_url, version_link
from gateway.admin.people import person_name
from gateway.admin.replaying import may_replay
from gateway.admin.values import ShownValue, pretty, shown_value, stored_value
from gateway.explaining import Ref
from gateway.mode_corrections import CALLED
from gateway.models import Evidence, ToolCall
from gateway.states import CALLS, CallState
from registry.resolution import ResolvedCapability, capability_of_version

MOST_EVIDENCE = 50
HIDDEN = "(hidden)"


def call_context(request: HttpRequest, call: ToolCall) -> dict[str, Any]:
    """The call, its way, its envelopes, its record."""
    rows = rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)
    sees_values = may_read_values(request)
    transcripts = _attempts(call) if sees_values else []
    return {
        "call": call,
        "state": state_badge(call.state),
        "mode": mode_badge(call.mode_effective),
        "write": write_badge(call),
        "waiting": waiting_words(call),
        "lasted": age(call.created_at, call.finished_at),
        "moments": moments_of(call, rows, transcripts),
        "done_by_people": timeline_of(call.tenant_id, "tool_call", [call.pk]),
        "sees_values": sees_values,
        **_who(request, call),
        **_buttons(request, call, rows),
        **_envelopes(call, sees_values=sees_values),
        **_decision(request, call, rows),
        "evidence": list(_evidence(call)),
        "cost": _cost(call, rows),
        "records": [_record(row) for row in rows],
    }


def pinned_capability(call: ToolCall) -> ResolvedCapability | None:
    """What the call's version declared."""
    return declared_capability(call.version_id, call.capability_id)


def declared_capability(version_id: str, capability_id: str) -> ResolvedCapability | None:
    """What a version declares; None when it can't be believed, or does not know the name."""
    try:
        return capability_of_version(version_id, capability_id)
    except (ContextOSError, KeyError, ObjectDoesNotExist):
        return None


def _who(request: HttpRequest, call: ToolCall) -> dict[str, Any]:
    name = f"{call.adapter_id}@{call.adapter_version}"
    return {
        "user_name": person_name(call.user_id),
        "agent_link": link_to(request, call.tenant_id, Ref("agent", call.agent_id)),
        "capability_link": link_to(request, call.tenant_id, Ref("capability", call.capability_id)),
        "run_url": run_url(call.run_id),
        "adapter_name": reveal_invisible(name),
        "adapter_url": version_link(request, call.tenant_id, name),
    }


def _buttons(request: HttpRequest, call: ToolCall, rows: list[dict[str, Any]]) -> dict[str, Any]:
    settles = may_settle(request)
    over = CALLS.is_terminal(call.state) or call.state == CallState.UNKNOWN_OUTCOME
    unknown = call.state == CallState.UNKNOWN_OUTCOME
    refused = any(row.get("error") for row in rows[-1:])
    stem = "admin:gateway_toolcall"
    return {
        "cancel_url": ""
        if over or call.cancel_reason or not settles
        else reverse(f"{stem}_cancel", args=[call.pk]),
        "reconcile_url": reverse("admin:gateway_reconcile_call", args=[call.pk]) if unknown else "",
        "why_url": refusal_url(call.decision_id) if refused else "",
        "may_replay": may_replay(request, call.tenant_id),
        "mode_url": reverse(f"{stem}_mode", args=[call.pk])
        if call.state in CALLED and may_correct_modes(request)
        else "",
        **_store_links(request, call),
    }


def _store_links(request: HttpRequest, call: ToolCall) -> dict[str, str]:
    """Erasing the call's values, and showing that a value is one of them."""
    erase = f"{admin_url(Erasure, 'add')}?decision={call.decision_id}"
    match = reverse("admin:audit_match", args=[call.decision_id])
    return {
        "erase_url": erase if may(request, "add", Erasure) else "",
        "match_url": match if may_see_salts(request, call.tenant_id) else "",
    }


# --- envelopes -----------------------------------------------------------------------------------
def _envelopes(call: ToolCall, *, sees_values: bool) -> dict[str, Any]:
    args, output = _values(call) if sees_values else (None, None)
    envelope = {**_read(call.envelope), "args": args.safe if args else HIDDEN}
    result = _read(call.result) if call.result else None
    if result is not None and call.output_payload:
        result["output"] = output.safe if output else HIDDEN
    return {
        "args": args,
        "output": output,
        "output_source": _source(result),
        "call_envelope": shown_value(envelope),
        "result_envelope": shown_value(result) if result else None,
        "task": _task(call),
    }


def _source(result: Mapping[str, Any] | None) -> str:
    """Who wrote the output: a tool, or whoever settled what nobody knew."""
    metrics = (result or {}).get("metrics") or {}
    settled = metrics.get("upstream_status") == "reconciled"
    return "Written by the person who settled the call." if settled else "Written by the adapter."


def _values(call: ToolCall) -> tuple[ShownValue, ShownValue | None]:
    """Arguments and output, with what their schemas call secret masked."""
    declared = pinned_capability(call)
    args = stored_value(
        tenant_id=call.tenant_id,
        payload_id=call.args_payload,
        schema=declared.input_schema if declared else None,
    )
    if not call.output_payload:
        return args, None
    output = stored_value(
        tenant_id=call.tenant_id,
        payload_id=call.output_payload,
        schema=declared.output_schema if declared else None,
    )
    return args, output


def _task(call: ToolCall) -> str:
    """Without the upstream's handle, which is the adapter's own business."""
    if not call.task:
        return ""
    return shown_value({k: v for k, v in call.task.items() if k != "handle"}).text


def _read(text: str) -> dict[str, Any]:
    try:
        return dict(strict_json.loads_object(text))
    except ContextOSError as fault:
        return {"unreadable": fault.message}


def _attempts(call: ToolCall) -> list[AttemptSeen]:
    rows = Payload.objects.filter(
        tenant_id=call.tenant_id, decision_id=call.decision_id, kind="transcript"
    )
    kept = rows.order_by("payload_id").values_list("payload_id", "created_at")[:50]
    found = []
    for payload_id, moment in kept:
        try:
            said = open_payload(tenant_id=call.tenant_id, payload_id=payload_id)
        except ContextOSError:
            continue  # erased: what it said is gone on purpose, the record still stands
        error = said.get("error") or {}
        words = f"{error.get('code')}: {error.get('message')}" if error else ""
        found.append(AttemptSeen(moment, int(said["attempt"]), str(said["status"]), words))
    return found


# --- policy, evidence, cost, record --------------------------------------------------------------
def _decision(request: HttpRequest, call: ToolCall, rows: list[dict[str, Any]]) -> dict[str, Any]:
    last: Mapping[str, Any] = rows[-1] if rows else {}
    policy = last.get("policy_decision") or {}
    lineage = last.get("lineage") or {}
    bundles = tuple(map(str, policy.get("bundle_versions") or ()))
    pack = str(lineage.get("pack_ref") or "")
    return {
        "policy": policy,
        **_reason(str(policy.get("reason") or "")),
        "rules": [
            link_to(request, call.tenant_id, Ref("rule", rule), bundles=bundles)
            for rule in map(str, policy.get("matched_rule_ids") or ())
        ],
        "bundles": [(ref, bundle_link(request, call.tenant_id, ref)) for ref in bundles],
        "constraints": pretty(policy["arg_constraints"]) if policy.get("arg_constraints") else "",
        "pack_ref": reveal_invisible(pack),
        "pack_url": pack_link(request, call.tenant_id, pack) if pack else "",
        "lineage": lineage,
        "trace_id": str(last.get("trace_id") or ""),
        "plan": last.get("plan"),
        "named_evidence": [reveal_invisible(str(ref)) for ref in last.get("evidence_refs") or ()],
    }


def _reason(text: str) -> dict[str, str]:
    """The sentence, and the code at its head."""
    code, _, sentence = text.partition(": ")
    return {
        "policy_code": reveal_invisible(code if sentence else ""),
        "policy_reason": reveal_invisible(sentence or text),
    }


def _evidence(call: ToolCall) -> list[dict[str, Any]]:
    rows = Evidence.objects.filter(
        tenant_id=call.tenant_id, run_id=call.run_id, tool_call_id=call.pk
    )
    return [
        {
            "ref": row.evidence_ref,
            "keys": [reveal_invisible(str(key)) for key in row.keys],
            "source": reveal_invisible(row.source),
            "classification": reveal_invisible(row.classification),
            "at": row.observed_at,
        }
        for row in rows[:MOST_EVIDENCE]
    ]


def _cost(call: ToolCall, rows: list[dict[str, Any]]) -> str:
    spent = rows[-1].get("cost_cents") if rows else None
    if isinstance(spent, int):
        return f"{money(spent)} spent"
    held = call.reserved_cents and not CALLS.is_terminal(call.state)
    return f"{money(call.reserved_cents)} reserved" if held else "none"


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "seq": row.get("seq"),
        "status": row.get("status"),
        "hash": str(row.get("record_hash") or ""),
        "repeats": row.get("repeat_count", 1),
        "text": pretty(row),
    }
