"""A gate's document as fields of a form, and the fields as a document again; pure.

What is typed goes into the document as it is: a quorum of "two" is stored as that text, and the
examination says at its place what is wrong with it. Nothing is corrected behind anybody's back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from approvals.durations import SECONDS, split
from approvals.gates import DAY, FactorRule

MOST_ROWS = 20
TEXTS = ("gate_id", "version", "title", "description", "owner_role")
FACTORS = (
    (FactorRule.DESTRUCTIVE.value, "for destructive calls (usual)"),
    (FactorRule.ALWAYS.value, "for every approval"),
    (FactorRule.NEVER.value, "never"),
)
_MEMBERS = frozenset(
    {
        *TEXTS,
        "stages",
        "deny_threshold",
        "expires_after_seconds",
        "second_factor",
        "reminders_after_seconds",
        "escalations",
    }
)


class Posted(Protocol):
    """What a browser sent."""

    def get(self, name: str, default: Any = None, /) -> Any: ...

    def getlist(self, name: str, /) -> list[Any]: ...

    def __contains__(self, name: object, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Time:
    """A duration as two fields."""

    pointer: str
    name: str
    count: str
    unit: str


@dataclass(frozen=True, slots=True)
class Tick:
    """One approver group that can be chosen."""

    name: str
    title: str
    chosen: bool
    people: int | None  # None: there is no such group


@dataclass(frozen=True, slots=True)
class StageFields:
    """One stage."""

    number: int
    pointer: str
    name: str
    quorum: str
    groups: tuple[Tick, ...]

    @property
    def groups_name(self) -> str:
        """What the ticks are sent as."""
        return f"stage-{self.number}-groups"


@dataclass(frozen=True, slots=True)
class StepFields:
    """One escalation."""

    number: int
    pointer: str
    time: Time
    groups: tuple[Tick, ...]

    @property
    def groups_name(self) -> str:
        """What the ticks are sent as."""
        return f"escalation-{self.number}-groups"


@dataclass(frozen=True, slots=True)
class GateFields:
    """Everything the form shows."""

    texts: dict[str, str]
    stages: tuple[StageFields, ...]
    deny_threshold: str
    expires: Time
    second_factor: str
    reminders: tuple[Time, ...]
    escalations: tuple[StepFields, ...]
    factors: tuple[tuple[str, str], ...] = FACTORS
    units: tuple[str, ...] = field(default_factory=lambda: tuple(SECONDS))


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """An approver group of the tenant."""

    name: str
    title: str
    people: int


def blank() -> dict[str, Any]:
    """What a new gate starts from."""
    return {
        "gate_id": "",
        "title": "",
        "stages": [{"name": "approval", "groups": [], "quorum": 1}],
        "deny_threshold": 1,
        "expires_after_seconds": DAY,
        "second_factor": FactorRule.DESTRUCTIVE.value,
        "reminders_after_seconds": [4 * 3600],
    }


def fits_form(document: Mapping[str, Any]) -> bool:
    """Whether the form can show all of it; what it can't is written as JSON."""
    stages, steps = document.get("stages"), document.get("escalations") or []
    reminders = document.get("reminders_after_seconds") or []
    return (
        set(document) <= _MEMBERS
        and all(isinstance(document.get(name, ""), str) for name in TEXTS)
        and _is_listed(stages, {"name", "groups", "quorum"})
        and _is_listed(steps, {"after_seconds", "groups"})
        and isinstance(reminders, list)
        and len(reminders) <= MOST_ROWS
        and all(isinstance(item, int | str) for item in reminders)
    )


def _is_listed(rows: Any, members: set[str]) -> bool:
    if not isinstance(rows, list) or len(rows) > MOST_ROWS:
        return False
    return all(
        isinstance(row, dict)
        and set(row) <= members
        and isinstance(row.get("groups", []), list)
        and all(isinstance(name, str) for name in row.get("groups", []))
        for row in rows
    )


# --- from a document to fields -------------------------------------------------------------------
def fields_of(document: Mapping[str, Any], choices: tuple[GroupChoice, ...]) -> GateFields:
    """The fields of a document that fits the form."""
    reminders = document.get("reminders_after_seconds") or []
    return GateFields(
        texts={name: str(document.get(name, "")) for name in TEXTS},
        stages=tuple(
            StageFields(
                number,
                f"/stages/{number}",
                str(row.get("name", "")),
                str(row.get("quorum", 1)),
                _ticks(row.get("groups", []), choices),
            )
            for number, row in enumerate(document["stages"])
        ),
        deny_threshold=str(document.get("deny_threshold", 1)),
        expires=_time(
            "/expires_after_seconds", "expires", document.get("expires_after_seconds", DAY)
        ),
        second_factor=str(document.get("second_factor", FactorRule.DESTRUCTIVE.value)),
        reminders=tuple(
            _time(f"/reminders_after_seconds/{number}", f"reminder-{number}", value)
            for number, value in enumerate(reminders)
        ),
        escalations=tuple(
            StepFields(
                number,
                f"/escalations/{number}",
                _time(
                    f"/escalations/{number}/after_seconds",
                    f"escalation-{number}",
                    row.get("after_seconds", ""),
                ),
                _ticks(row.get("groups", []), choices),
            )
            for number, row in enumerate(document.get("escalations") or [])
        ),
    )


def _time(pointer: str, name: str, seconds: Any) -> Time:
    if isinstance(seconds, int) and not isinstance(seconds, bool) and seconds >= 0:
        count, unit = split(seconds)
        return Time(pointer, name, str(count), unit if seconds else "hours")
    return Time(pointer, name, str(seconds), "hours")


def _ticks(named: list[str], choices: tuple[GroupChoice, ...]) -> tuple[Tick, ...]:
    known = [Tick(item.name, item.title, item.name in named, item.people) for item in choices]
    names = {item.name for item in choices}
    lost = [
        Tick(name, name, chosen=True, people=None)
        for name in dict.fromkeys(named)
        if name not in names
    ]
    return (*known, *lost)


# --- from fields to a document -------------------------------------------------------------------
def document_of_fields(posted: Posted) -> dict[str, Any]:
    """The document that the fields say; empty texts are left out."""
    document: dict[str, Any] = {"gate_id": str(posted.get("gate_id", "")).strip()}
    for name in TEXTS[1:]:
        said = str(posted.get(name, "")).strip()
        if said:
            document[name] = said
    document["stages"] = _rows(posted, "stage-{}-name", _stage)
    document["deny_threshold"] = _count(posted.get("deny_threshold", ""))
    document["expires_after_seconds"] = _seconds(posted, "expires")
    document["second_factor"] = str(posted.get("second_factor", ""))
    reminders = _rows(posted, "reminder-{}-count", lambda p, n: _seconds(p, f"reminder-{n}"))
    if reminders:
        document["reminders_after_seconds"] = reminders
    steps = _rows(posted, "escalation-{}-count", _step)
    if steps:
        document["escalations"] = steps
    return document


def _rows(posted: Posted, name: str, read: Callable[[Posted, int], Any]) -> list[Any]:
    return [read(posted, number) for number in range(MOST_ROWS) if name.format(number) in posted]


def _stage(posted: Posted, number: int) -> dict[str, Any]:
    return {
        "name": str(posted.get(f"stage-{number}-name", "")).strip(),
        "groups": [str(name) for name in posted.getlist(f"stage-{number}-groups")],
        "quorum": _count(posted.get(f"stage-{number}-quorum", "")),
    }


def _step(posted: Posted, number: int) -> dict[str, Any]:
    return {
        "after_seconds": _seconds(posted, f"escalation-{number}"),
        "groups": [str(name) for name in posted.getlist(f"escalation-{number}-groups")],
    }


def _count(said: Any) -> int | str:
    text = str(said).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _seconds(posted: Posted, name: str) -> int | str:
    count = _count(posted.get(f"{name}-count", ""))
    size = SECONDS.get(str(posted.get(f"{name}-unit", "")))
    if isinstance(count, str) or size is None:
        return str(count)
    return count * size


# --- rows that come and go -----------------------------------------------------------------------
def rearranged(document: dict[str, Any], action: str) -> dict[str, Any]:
    """The document after a press on Add, Remove or Move up; other actions change nothing."""
    verb, _, rest = action.partition(":")
    kind, _, number = rest.partition(":")
    member = {
        "stage": "stages",
        "reminder": "reminders_after_seconds",
        "escalation": "escalations",
    }.get(kind)
    if member is None or not isinstance(document.get(member, []), list):
        return document
    rows = list(document.get(member) or [])
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 3 else -1
    if verb == "add" and len(rows) < MOST_ROWS:
        rows.append(_new(kind, len(rows)))
    elif verb == "drop" and 0 <= at < len(rows):
        del rows[at]
    elif verb == "up" and 0 < at < len(rows):
        rows[at - 1], rows[at] = rows[at], rows[at - 1]
    rest_of = {name: value for name, value in document.items() if name != member}
    return {**rest_of, member: rows} if rows or kind == "stage" else rest_of


def _new(kind: str, number: int) -> Any:
    if kind == "stage":
        return {"name": f"stage {number + 1}", "groups": [], "quorum": 1}
    return 3600 if kind == "reminder" else {"after_seconds": 8 * 3600, "groups": []}
