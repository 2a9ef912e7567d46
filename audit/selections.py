"""Which decisions of a tenant somebody means: the filter of erasures, holds and their previews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from audit.models import DecisionRow
from contextos.core.clock import format_time, parse_time

# Columns of a decision's head that a selection can name exactly.
EXACT = ("decision_id", "run_id", "user_id", "agent_id", "capability_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Decisions of one tenant for which everything that is given holds; empty leaves it open."""

    tenant_id: str
    decision_id: str = ""
    run_id: str = ""
    user_id: str = ""
    agent_id: str = ""
    capability_id: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it names nothing at all, which would mean the whole tenant."""
        return not self._named() and self.since is None

    def condition(self) -> Q:
        """The same as a condition on heads."""
        found = Q(tenant_id=self.tenant_id, **self._named())
        if self.since is not None:
            found &= Q(created_at__gte=self.since)
        return found if self.until is None else found & Q(created_at__lt=self.until)

    def as_document(self) -> dict[str, str]:
        """What was given, for a record."""
        times = {"since": self.since, "until": self.until}
        return self._named() | {
            name: format_time(at) for name, at in times.items() if at is not None
        }

    def in_words(self) -> str:
        """For a person: `capability payments.issue_refund, since 2026-01-01`."""
        words = [f"{name.removesuffix('_id')} {value}" for name, value in self._named().items()]
        for name, at in (("since", self.since), ("until", self.until)):
            words += [f"{name} {at:%Y-%m-%d %H:%M} UTC"] if at else []
        return ", ".join(words) or "everything in this tenant"

    def _named(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in EXACT if getattr(self, name)}


def read_selection(tenant_id: str, document: Mapping[str, Any]) -> Selection:
    """A stored selection again."""
    given: dict[str, Any] = {name: str(document[name]) for name in EXACT if name in document}
    for name in ("since", "until"):
        if name in document:
            given[name] = parse_time(document[name])
    return Selection(tenant_id=tenant_id, **given)


def decisions_in(selection: Selection, *, at_once: int) -> Iterator[list[str]]:
    """The decision ids in the order they were written, in batches; no page is read twice."""
    last = ""
    while True:
        rows = DecisionRow.objects.filter(selection.condition(), record_id__gt=last)
        page = list(rows.order_by("record_id").values_list("record_id", "decision_id")[:at_once])
        if not page:
            return
        last = page[-1][0]
        yield list(dict.fromkeys(decision_id for _, decision_id in page))
