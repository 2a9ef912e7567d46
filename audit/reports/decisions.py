"""Reports about decisions: modes that were overridden, requests nobody decided, what was denied."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from django.db.models import Count

from audit.decision_record import OUTCOMES, TERMINAL, DecisionStatus
from audit.reports.figures import share
from audit.reports.reading import DecisionSeen, EventSeen, decisions_in, events_in, heads_in
from audit.reports.types import Cell, Column, Contents, Figure, Kind, Period

CORRECTED = "call.mode_corrected"
UNRESOLVED = "(not resolved)"
_MODES = re.compile(r'"mode_effective":("[a-z_]+"|null),"mode_highest":("[a-z_]+"|null)')
_ENDS = [status.value for status in TERMINAL]
_DENIED = [status.value for status in TERMINAL if OUTCOMES[status] == "denied"]


def overridden_modes(tenant_id: str, period: Period) -> Contents:
    """Calls that ran in another mode than declared, and modes that reviewers found wrong."""
    found = decisions_in(heads_in(tenant_id, period).filter(seq=1), worth=_may_be_overridden)
    lowered = [row for row in found.rows if _is_overridden(row)]
    corrected = events_in(tenant_id, period, [CORRECTED])
    lines = [(_lowered(row), row.ref) for row in lowered]
    lines += [(_corrected(event), event.ref) for event in corrected.rows]
    lines.sort(key=lambda line: str(line[0][0]), reverse=True)
    return Contents(
        figures=(
            Figure("Decisions looked at", found.looked_at),
            Figure("Lowered by policy", len(lowered)),
            Figure("Corrected by reviewers", len(corrected.rows)),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Capability"),
            Column("Declared"),
            Column("Asked for"),
            Column("Ran as"),
            Column("By"),
            Column("Why"),
        ),
        rows=tuple(line for line, _ in lines),
        refs=tuple(ref for _, ref in lines),
        notes=(*found.notes, *corrected.notes),
    )


def _may_be_overridden(text: str) -> bool:
    """Told from the canonical text, whose members are in order; quotes in a name are escaped."""
    match = _MODES.search(text)
    return match is None or match[1] != match[2]


def _is_overridden(row: DecisionSeen) -> bool:
    capability = row.record["capability"]
    declared, ran = capability["mode_highest"], capability["mode_effective"]
    return declared is not None and ran is not None and declared != ran


def _lowered(row: DecisionSeen) -> tuple[Cell, ...]:
    capability, policy = row.record["capability"], row.record["policy_decision"] or {}
    rules = ", ".join(map(str, policy.get("matched_rule_ids") or ())) or "default"
    return (
        row.at,
        row.capability,
        capability["mode_highest"],
        capability["mode_requested"],
        capability["mode_effective"],
        "policy",
        f"rules: {rules}",
    )


def _corrected(event: EventSeen) -> tuple[Cell, ...]:
    return (
        event.at,
        event.text("capability_id"),
        event.text("declared"),
        "",
        event.text("corrected"),
        event.who,
        event.reason,
    )


def expired_requests(tenant_id: str, period: Period) -> Contents:
    """Requests for approval that nobody decided in time."""
    rows = heads_in(tenant_id, period).filter(status=DecisionStatus.EXPIRED)
    found = decisions_in(rows)
    return Contents(
        figures=(
            Figure("Expired", len(found.rows)),
            Figure("With a vote", sum(bool(_votes(row)) for row in found.rows)),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Capability"),
            Column("Asked by"),
            Column("Gate"),
            Column("Request"),
            Column("Votes so far", Kind.NUMBER),
        ),
        rows=tuple(
            (
                row.at,
                row.capability,
                row.agent,
                _approval(row).get("gate"),
                _approval(row).get("approval_id"),
                len(_votes(row)),
            )
            for row in found.rows
        ),
        refs=tuple(row.ref for row in found.rows),
        notes=found.notes,
    )


def denied(tenant_id: str, period: Period) -> Contents:
    """Denials per 1,000 decisions, by capability, with the reasons."""
    heads = heads_in(tenant_id, period)
    ended = _by_status(heads.filter(status__in=_ENDS))
    refused = decisions_in(heads.filter(status__in=_DENIED))
    repeats: Counter[str] = Counter()
    codes: dict[str, Counter[str]] = {}
    for row in refused.rows:
        name, times = _name(row), int(row.record["repeat_count"])
        repeats[name] += times - 1
        codes.setdefault(name, Counter())[row.code or row.record["status"].lower()] += times
    lines = sorted(
        (_denied_line(name, sums, repeats[name], codes.get(name, Counter())))
        for name, sums in ended.items()
    )
    lines.sort(key=lambda line: (-(line[2]), str(line[0])))
    total, no = sum(line[1] for line in lines), sum(line[2] for line in lines)
    return Contents(
        figures=(
            Figure("Decisions", total, Kind.NUMBER, "Ended in the period, repeats included."),
            Figure("Denied", no, Kind.NUMBER, "Refused, expired or cancelled."),
            Figure("Denied per 1,000", _per_1000(no, total)),
        ),
        columns=(
            Column("Capability"),
            Column("Decisions", Kind.NUMBER),
            Column("Denied", Kind.NUMBER),
            Column("Per 1,000", Kind.NUMBER),
            Column("Reasons"),
        ),
        rows=tuple(lines),
        notes=refused.notes,
    )


def _by_status(rows: Any) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    counted = rows.order_by().values_list("adapter_id", "capability_id", "status")
    for adapter, capability, status, number in counted.annotate(Count("record_id")):
        found.setdefault(capability if adapter else UNRESOLVED, Counter())[status] += number
    return found


def _denied_line(
    name: str, sums: Counter[str], repeats: int, codes: Counter[str]
) -> tuple[str, int, int, float | None, str]:
    total, no = sums.total() + repeats, sum(sums[status] for status in _DENIED) + repeats
    reasons = ", ".join(f"{code} × {times}" for code, times in codes.most_common(5))
    return name, total, no, _per_1000(no, total), reasons


def _name(row: DecisionSeen) -> str:
    return row.capability if row.record["lineage"]["adapter_id"] else UNRESOLVED


def _per_1000(part: int, whole: int) -> float | None:
    found = share(1000 * part, whole)
    return None if found is None else round(found, 3)


def _approval(row: DecisionSeen) -> dict[str, Any]:
    return next((item for item in row.record["approvals"] if item.get("approval_id")), {})


def _votes(row: DecisionSeen) -> list[Any]:
    return _approval(row).get("votes") or []
