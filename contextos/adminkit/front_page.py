"""The front page's registry: each app says what waits, what is published and what is failing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from django.http import HttpRequest
from django.utils.module_loading import autodiscover_modules

from contextos.adminkit.display import Tone

Column = Literal["waiting", "published", "failing", "activity", "start"]
MODULE = "panels"  # the module of each app that registers its panels


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a panel: what, a little detail, where it leads."""

    text: str
    detail: str = ""
    url: str = ""
    label: str = ""
    tone: Tone = "neutral"
    done: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """What one app has to say in one column for this person, now."""

    title: str
    rows: Sequence[Row] = field(default_factory=tuple)
    total: int | None = None
    more_url: str = ""
    more_text: str = "See all"

    @property
    def count(self) -> int:
        """How many there are, also when only the first few are listed."""
        return len(self.rows) if self.total is None else self.total


@dataclass(frozen=True, slots=True)
class EmptyState:
    """What a column says when it has nothing: what it is for, why it is empty."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A column as drawn."""

    key: str
    title: str
    icon: str
    panels: tuple[Panel, ...]
    empty: EmptyState

    @property
    def count(self) -> int:
        """All rows of all panels."""
        return sum(panel.count for panel in self.panels)


Builder = Callable[[HttpRequest], Panel | None]

COLUMNS: dict[Column, tuple[str, str, EmptyState]] = {
    "waiting": (
        "Waiting for you",
        "pending_actions",
        EmptyState(
            "Nothing waits for you",
            "Decisions that need you come here: approvals, reviews, and anything of "
            "yours that is about to run out.",
        ),
    ),
    "published": (
        "Published",
        "verified",
        EmptyState(
            "Nothing is published yet",
            "Only what was reviewed, signed and published can be called by an agent. "
            "It will be listed here with its version.",
        ),
    ),
    "failing": (
        "Failing",
        "error",
        EmptyState(
            "Nothing is failing",
            "Locked sign-ins, drifting adapters, open breakers and calls with an unknown "
            "outcome show up here first.",
        ),
    ),
    "activity": (
        "Recent activity",
        "history",
        EmptyState(
            "No activity yet",
            "Every change is recorded with who did it and why, and the record can't be edited.",
        ),
    ),
    "start": ("Getting started", "flag", EmptyState("All set", "Every first step is done.")),
}

_builders: dict[Column, list[tuple[int, str, Builder]]] = {column: [] for column in COLUMNS}


def register_panel(*, key: str, column: Column, build: Builder, order: int = 100) -> None:
    """Add a panel. `build` gets the request and answers None when the person may not see it."""
    others = [entry for entry in _builders[column] if entry[1] != key]
    _builders[column] = sorted([*others, (order, key, build)], key=lambda entry: entry[:2])


def section(column: Column, request: HttpRequest) -> Section:
    """One column with the panels this person may see that have something to say."""
    title, icon, empty = COLUMNS[column]
    built = (build(request) for _, _, build in _builders[column])
    panels = tuple(panel for panel in built if panel is not None and panel.rows)
    return Section(key=column, title=title, icon=icon, panels=panels, empty=empty)


def unfinished_steps(request: HttpRequest) -> Section | None:
    """The getting-started list until every step is done; then it disappears for good."""
    steps = section("start", request)
    rows = [row for panel in steps.panels for row in panel.rows]
    return steps if any(not row.done for row in rows) else None


def front_page(request: HttpRequest) -> dict[str, object]:
    """Everything the front page shows."""
    return {
        "front_columns": [section(key, request) for key in ("waiting", "published", "failing")],
        "front_activity": section("activity", request),
        "front_start": unfinished_steps(request),
    }


def discover_panels() -> None:
    """Import the `panels` module of every app that has one."""
    autodiscover_modules(MODULE)
