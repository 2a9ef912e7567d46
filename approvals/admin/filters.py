"""What the queue shows: read from the address, and the choices that lead on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet

from approvals.labels import name
from approvals.models import ApprovalRequest
from approvals.states import RequestState
from approvals.viewer import Pile, Viewer
from contextos.core.modes import ApprovalMode

MINE, ALL, ENDED = "mine", "all", "ended"
LONGEST = 200
COLUMNS = {
    "gate": "gate_id",
    "capability": "capability_id",
    "mode": "effective_mode",
    "agent": "agent_id",
}
TITLES = {"gate": "Gate", "capability": "Capability", "mode": "Mode"}
MOST_CHOICES = 200


@dataclass(frozen=True, slots=True)
class Wanted:
    """The filters in the address; anything unknown there is left out."""

    show: str = MINE
    state: str = ""
    gate: str = ""
    capability: str = ""
    mode: str = ""
    agent: str = ""
    like: str = ""  # one heap of identical asks, opened
    p: int = 1

    @property
    def waits(self) -> bool:
        """Whether it is about what nobody has decided."""
        return self.show != ENDED

    @property
    def narrowed(self) -> bool:
        """Whether anything but the tab was chosen."""
        return any((self.state, self.gate, self.capability, self.mode, self.agent, self.like))

    def query(self, **changes: Any) -> str:
        """The address's query with changes; what is as usual is left out."""
        other = replace(self, **changes)
        usual = Wanted()
        kept = {
            field.name: getattr(other, field.name)
            for field in fields(other)
            if getattr(other, field.name) != getattr(usual, field.name)
        }
        return f"?{urlencode(kept)}"


def read_wanted(given: Mapping[str, str], viewer: Viewer) -> Wanted:
    """From the address; who decides nothing looks at everything."""
    text = {each: str(given.get(each, ""))[:LONGEST] for each in (*COLUMNS, "like")}
    state = given.get("state", "")
    state = state if state in RequestState.values and state != RequestState.PENDING else ""
    show = given.get("show", "")
    show = show if show in (MINE, ALL, ENDED) else MINE
    if state:
        show = ENDED
    elif show == MINE and not viewer.gates:
        show = ALL
    page = given.get("p", "")
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 5 else 1
    return Wanted(show=show, state=state, p=max(1, number), **text)


def rows_for(viewer: Viewer, wanted: Wanted) -> QuerySet[ApprovalRequest]:
    """The requests a view is about, without order."""
    if wanted.show == ENDED:
        rows = viewer.visible().exclude(state=RequestState.PENDING)
        rows = rows.filter(state=wanted.state) if wanted.state else rows
    else:
        rows = viewer.mine() if wanted.show == MINE else viewer.waiting()
    chosen = {column: getattr(wanted, each) for each, column in COLUMNS.items()}
    chosen["likeness"] = wanted.like
    return rows.filter(**{column: value for column, value in chosen.items() if value})


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a filter."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter with what may be chosen."""

    key: str
    title: str
    choices: list[Choice]


def filters_for(wanted: Wanted, piles: list[Pile]) -> list[Filter]:
    """Gate, capability and mode as they occur, with how many wait; agents are typed in."""
    found = [_filter(key, wanted, piles) for key in TITLES]
    states = [
        Choice(str(value), str(label), wanted.state == value)
        for value, label in RequestState.choices
        if value != RequestState.PENDING
    ]
    return [*found, Filter("state", "State", [Choice("", "Waiting", not wanted.state), *states])]


def _filter(key: str, wanted: Wanted, piles: list[Pile]) -> Filter:
    counts: dict[str, int] = {}
    for pile in piles:
        value = str(pile.values[COLUMNS[key]])
        counts[value] = counts.get(value, 0) + pile.count
    chosen = getattr(wanted, key)
    if chosen:
        counts.setdefault(chosen, 0)
    listed = sorted(counts)[:MOST_CHOICES]
    choices = [
        Choice(value, f"{_label(key, value)} ({counts[value]})", value == chosen)
        for value in listed
    ]
    return Filter(key, TITLES[key], [Choice("", "Any", not chosen), *choices])


def _label(key: str, value: str) -> str:
    if key == "mode" and value in list(ApprovalMode):
        return value.replace("_", " ")
    return name(value)
