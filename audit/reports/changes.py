"""Reports about what governs: widenings that were published, gates, policies, erasures, exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from audit.actions import title_of
from audit.reports.reading import EventSeen, Seen, actions_under, events_about, events_in
from audit.reports.types import Cell, Column, Contents, Figure, Kind, Period

PUBLISHED = ("adapter_version.published", "adapter_version.rolled_back")
REVIEWED = "adapter_version.reviewed"
_GOVERNING = (
    "gate.published",
    "gate.rolled_back",
    "gate.deprecated",
    "gate.retired",
    "policy_bundle.published",
    "policy_bundle.rolled_back",
    "policy_bundle.deprecated",
    "policy_bundle.retired",
    "policy_bundle.enforced",
)
_PEOPLE = ("approver_group.", "delegation.", "kill_switch.")
# Members of an event that name what it is about, the most telling first.
_NAMES = ("gate_id", "bundle_id", "gate", "group", "name", "scope_id", "target", "adapter_id")
_MORE = ("format", "rows", "records", "values", "payloads", "count", "commitment", "kind")


def widenings(tenant_id: str, period: Period) -> Contents:
    """Publications after which an adapter may do more than before, and who had looked at them."""
    found = events_in(tenant_id, period, PUBLISHED)
    wider = [event for event in found.rows if event.text("risk") == "widens"]
    reviewers = _reviewers(tenant_id, wider)
    return Contents(
        figures=(
            Figure("Publications", len(found.rows)),
            Figure("Widening", len(wider), Kind.NUMBER, "By the risk diff with what was published"),
            Figure("Of them rolled back to", sum(e.action == PUBLISHED[1] for e in wider)),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Adapter"),
            Column("Version"),
            Column("Environment"),
            Column("Compared with"),
            Column("What got wider"),
            Column("Reviewed by"),
            Column("Published by"),
        ),
        rows=tuple(
            (
                event.at,
                event.text("adapter_id"),
                event.text("version"),
                event.text("environment"),
                event.text("compared_with") or "nothing: it is the first",
                ", ".join(map(str, event.data.get("widenings") or ())),
                ", ".join(reviewers.get(event.subject_id, ())),
                event.who,
            )
            for event in wider
        ),
        refs=tuple(event.ref for event in wider),
        notes=found.notes,
    )


def _reviewers(tenant_id: str, events: Sequence[EventSeen]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    about = events_about(tenant_id, "adapter_version", {event.subject_id for event in events})
    for event in about:
        if event.action == REVIEWED and event.text("verdict") == "approve":
            found.setdefault(event.subject_id, []).append(event.who)
    return found


def governing_changes(tenant_id: str, period: Period) -> Contents:
    """Every change of gates, of who keeps them, of policies, and every kill switch."""
    found = events_in(tenant_id, period, [*_GOVERNING, *actions_under(*_PEOPLE)])
    kinds = Counter(event.action.partition(".")[0] for event in found.rows)
    return Contents(
        figures=(
            Figure("Changes", len(found.rows)),
            Figure("Of gates", kinds["gate"]),
            Figure("Of who keeps them", kinds["approver_group"] + kinds["delegation"]),
            Figure("Of policies", kinds["policy_bundle"]),
            Figure("Kill switches", kinds["kill_switch"]),
        ),
        columns=_LISTED,
        rows=tuple(_listed(event) for event in found.rows),
        refs=tuple(event.ref for event in found.rows),
        notes=found.notes,
    )


def erasures(tenant_id: str, period: Period) -> Contents:
    """Values that were erased, by whom and why; holds and purges beside them."""
    actions = actions_under("erasure.", "hold.", "retention.", "payload.")
    found = events_in(tenant_id, period, actions)
    return Contents(
        figures=_by_action(found, "erasure.carried_out", "erasure.refused", "hold.placed"),
        columns=_LISTED,
        rows=tuple(_listed(event) for event in found.rows),
        refs=tuple(event.ref for event in found.rows),
        notes=(*found.notes, "An erased value leaves its commitment: every proof stays valid."),
    )


def exports(tenant_id: str, period: Period) -> Contents:
    """Everything that left the log as a file."""
    found = events_in(tenant_id, period, actions_under("audit.export.", "export."))
    return Contents(
        figures=(
            *_by_action(found, "audit.export.done", "audit.export.downloaded"),
            Figure("People", len({event.who for event in found.rows})),
        ),
        columns=_LISTED,
        rows=tuple(_listed(event) for event in found.rows),
        refs=tuple(event.ref for event in found.rows),
        notes=found.notes,
    )


_LISTED = (
    Column("When", Kind.MOMENT),
    Column("What"),
    Column("Of"),
    Column("More"),
    Column("By"),
    Column("Reason"),
)


def _listed(event: EventSeen) -> tuple[Cell, ...]:
    name = event.text(*_NAMES) or event.subject_id
    version = event.text("version")
    more = [f"{key}: {event.data[key]}" for key in _MORE if event.data.get(key)]
    return (
        event.at,
        title_of(event.action),
        f"{name} {version}".strip(),
        ", ".join(more),
        event.who,
        event.reason,
    )


def _by_action(found: Seen[EventSeen], *actions: str) -> tuple[Figure, ...]:
    counted = Counter(event.action for event in found.rows)
    return tuple(Figure(title_of(action), counted[action]) for action in actions)
