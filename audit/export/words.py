"""What an export says about itself, line by line, the same in every format."""

from __future__ import annotations

from collections.abc import Mapping

from audit.export.base import Cover, Totals
from contextos.core.clock import format_time

_FILTERS = {
    "from": "From (inclusive)",
    "to": "To (exclusive)",
    "capability": "Capability",
    "adapter": "Adapter",
    "status": "Status",
    "mode": "Effective mode",
    "agent": "Agent",
    "user": "On behalf of",
    "outcome": "Outcome",
    "approver": "Approved by",
    "rule": "Policy rule",
    "gate": "Gate",
    "trace": "Trace",
    "run": "Run",
    "decision": "Decision",
    "intent": "Intent",
    "error": "Error code",
    "amount_min": "Amount from",
    "amount_max": "Amount to",
    "currency": "Currency",
    "ended": "Only last rows of decisions",
}


def filter_lines(wanted: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each filter in words."""
    known = [(_FILTERS[name], _in_words(name, wanted[name])) for name in _FILTERS if name in wanted]
    return known + [(name, wanted[name]) for name in wanted if name not in _FILTERS]


def _in_words(name: str, value: str) -> str:
    """A switch is said, not shown as it is spelled in an address."""
    return value if name != "ended" else "yes" if value in ("1", "true", "yes") else "no"


def period_of(wanted: Mapping[str, str]) -> str:
    """The span of time in words."""
    starts, ends = wanted.get("from"), wanted.get("to")
    if starts and ends:
        return f"{starts} up to {ends}"
    if starts:
        return f"from {starts} on"
    return f"up to {ends}" if ends else "from the first record to the last"


def cover_lines(cover: Cover, totals: Totals) -> list[tuple[str, str]]:
    """Everything a reader needs to know before the records."""
    lines = [
        ("Export", cover.export_id),
        ("Title", cover.title),
        ("Tenant", f"{cover.tenant_name} ({cover.tenant_id})"),
        ("Period (UTC)", period_of(cover.wanted)),
        *filter_lines({n: v for n, v in cover.wanted.items() if n not in ("from", "to")}),
        ("Asked for by", cover.requested_by),
        ("Asked for at (UTC)", format_time(cover.requested_at)),
        ("Records", f"{totals.rows:,}" if totals.rows else "None: no record matches the filter."),
    ]
    if totals.population is not None and cover.sample:
        drawn = f"{totals.rows:,} of {totals.population:,} records, seed {cover.sample['seed']}"
        lines.append(("Random sample", drawn))
        lines.append(("How it was drawn", "The smallest SHA-256(seed, newline, leaf hash)."))
    if totals.missing:
        lines.append(("Left out", f"{totals.missing:,} records whose stored text is not there"))
    return [*lines, *(("Note", note) for note in totals.notes)]
