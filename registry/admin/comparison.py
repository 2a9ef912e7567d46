"""The risk diff as reviewers see it: widenings first, both sides written out, the rest folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from contextos.adminkit.display import badge
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import split
from contextos.core.text import reveal_invisible, single_line
from contextos.review.document_text import pretty
from registry.labels import direction_badge, verdict_badge
from registry.models import AdapterVersion
from registry.risk_diff import Change, Direction, RiskDiff, diff_manifests
from registry.selectors import active_version, manifest_of

_LONGEST_VALUE = 6000
_KEYS = {"capabilities": "capability_id", "resources": "uri", "prompts": "name"}


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One change as the page draws it."""

    number: int
    direction: str
    badge: SafeString
    subject: str
    message: str
    why: str
    rule: str
    pointer: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Tally:
    """A filter button: how many changes go one way."""

    direction: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything the review page shows of a diff."""

    changes: tuple[ShownChange, ...]
    tallies: tuple[Tally, ...]
    verdict: SafeString
    total: int
    unchanged: tuple[str, ...]
    against: AdapterVersion | None
    outdated: AdapterVersion | None = None  # what is published now, when that is another version
    fault: str = ""


def compare(version: AdapterVersion, *, direction: str = "") -> Comparison:
    """The version beside the one that was published when it was submitted, or is now."""
    current = active_version(version.adapter_id, version.environment)
    against = version.compared_with if version.submitted_at else current
    if against is not None and against.pk == version.pk:
        against = version.compared_with
    moved_on = current is not None and current.pk not in (version.pk, against and against.pk)
    try:
        old = manifest_of(against) if against is not None else None
        new = manifest_of(version)
    except ContextOSError as refusal:
        return Comparison((), (), verdict_badge(""), 0, (), against, fault=refusal.message)
    diff = diff_manifests(old, new)
    return Comparison(
        changes=_shown(diff, direction),
        tallies=_tallies(diff, direction),
        verdict=verdict_badge(diff.verdict.value)
        if old is not None
        else badge("all new", "danger"),
        total=len(diff.changes),
        unchanged=_unchanged(old, new, diff),
        against=against,
        outdated=current if moved_on else None,
    )


def _shown(diff: RiskDiff, direction: str) -> tuple[ShownChange, ...]:
    wanted = [
        change for change in diff.changes if not direction or change.direction.value == direction
    ]
    return tuple(_row(number, change) for number, change in enumerate(wanted, start=1))


def _row(number: int, change: Change) -> ShownChange:
    return ShownChange(
        number=number,
        direction=change.direction.value,
        badge=direction_badge(change.direction.value),
        subject=single_line(change.subject, limit=120),
        message=reveal_invisible(change.message),
        why=change.why,
        rule=change.rule,
        pointer=reveal_invisible(change.pointer or "/"),
        before=value_text(change.before),
        after=value_text(change.after),
    )


def value_text(value: object) -> str:
    """A value of a manifest written out; text is quoted, nothing in it is invisible."""
    if value is None:
        return ""
    text = pretty(value)
    if len(text) > _LONGEST_VALUE:
        text = f"{text[:_LONGEST_VALUE]}\n… {len(text) - _LONGEST_VALUE} more characters"
    return reveal_invisible(text)


def _tallies(diff: RiskDiff, chosen: str) -> tuple[Tally, ...]:
    counts = diff.counts()
    return tuple(
        Tally(item.value, item.value, counts[item.value], item.value == chosen)
        for item in Direction
        if counts[item.value]
    )


def _unchanged(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], diff: RiskDiff
) -> tuple[str, ...]:
    """The members, and the entries of lists, that no change speaks of."""
    if old is None:
        return ()
    touched = {split(change.pointer)[:2] for change in diff.changes}
    found: list[str] = []
    for name, value in new.items():
        key = _KEYS.get(name)
        if key and isinstance(value, list):
            found += [
                f"{name}: {_name(item, key)}"
                for index, item in enumerate(value)
                if (name, str(index)) not in touched
            ]
        elif not any(place[:1] == (name,) for place in touched):
            found.append(single_line(name))
    return tuple(found)


def _name(item: Any, key: str) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    return single_line(str(value), limit=120) if value else "unnamed"
