"""Values behind a record's commitments, as far as the viewer is cleared; evidence by its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.access import Window
from audit.payloads import payload_rows
from contextos.core.text import reveal_invisible
from gateway.admin.call_page import declared_capability
from gateway.admin.values import ShownValue, stored_value
from gateway.models import Evidence, ToolCall

MOST_EVIDENCE = 50
_KINDS = (
    ("args", "Arguments", "Written by the agent."),
    ("output", "Result", "Written by the adapter."),
)


def values_of(
    window: Window, last: Mapping[str, Any], call: ToolCall | None
) -> list[tuple[str, ShownValue, str]]:
    """Arguments and result, secrets masked; an erased one says so."""
    decision_id = str(last["decision_id"])
    kept = payload_rows(
        tenant_id=window.tenant_id,
        decision_ids=[decision_id],
        kinds=[kind for kind, _, _ in _KINDS],
    )
    schemas = _schemas(call)
    return [
        (
            title,
            stored_value(
                tenant_id=window.tenant_id,
                payload_id=kept[decision_id, kind].payload_id,
                schema=schemas.get(kind),
            ),
            source,
        )
        for kind, title, source in _KINDS
        if (decision_id, kind) in kept
    ]


def _schemas(call: ToolCall | None) -> dict[str, Any]:
    declared = declared_capability(call.version_id, call.capability_id) if call else None
    if declared is None:
        return {}
    return {"args": declared.input_schema, "output": declared.output_schema}


def evidence_of(
    window: Window, last: Mapping[str, Any], call: ToolCall | None
) -> list[dict[str, Any]]:
    """What was cited and what was made; above the viewer's clearance only that it is there."""
    cited = [str(ref) for ref in last.get("evidence_refs") or ()]
    rows = list(Evidence.objects.filter(tenant_id=window.tenant_id, pk__in=cited)[:MOST_EVIDENCE])
    if call is not None:
        made = Evidence.objects.filter(
            tenant_id=window.tenant_id, run_id=call.run_id, tool_call_id=call.pk
        )
        rows += [row for row in made[:MOST_EVIDENCE] if row.pk not in cited]
    known = {row.pk for row in rows}
    missing = [_unknown(ref) for ref in cited if ref not in known]
    return [*(_shown(row, window, call) for row in rows), *missing]


def _shown(row: Evidence, window: Window, call: ToolCall | None) -> dict[str, Any]:
    cleared = window.reads(row.classification)
    return {
        "ref": row.pk,
        "made_here": call is not None and row.tool_call_id == call.pk,
        "classification": reveal_invisible(row.classification).lower(),
        "source": reveal_invisible(row.source) if cleared else "",
        "keys": [reveal_invisible(str(key)) for key in row.keys] if cleared else [],
        "masked": not cleared,
        "at": row.observed_at,
    }


def _unknown(ref: str) -> dict[str, Any]:
    return {"ref": reveal_invisible(ref)[:80], "unknown": True}
