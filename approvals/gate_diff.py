"""What a new version of a gate changes, each change with its direction; pure.

A change widens when a call could pass with fewer people, other people, less proof, or more time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from approvals.durations import in_words
from approvals.gates import FactorRule, GateTerms, Stage, read_terms


class Direction(StrEnum):
    """What a change does to the gate."""

    WIDENS = "widens"
    NARROWS = "narrows"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class GateChange:
    """One difference, as a reviewer reads it."""

    pointer: str
    direction: Direction
    title: str
    why: str
    before: str
    after: str


_STRICTNESS = {FactorRule.NEVER: 0, FactorRule.DESTRUCTIVE: 1, FactorRule.ALWAYS: 2}
_TEXTS = (("title", "Title"), ("description", "Description"), ("owner_role", "Owner"))


def compare_gates(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[GateChange, ...]:
    """Every difference that matters, widenings first; both documents passed the examination."""
    if old is None:
        return ()
    before, after = read_terms(old), read_terms(new)
    found = [
        *_stages(before.stages, after.stages),
        *_numbers(before, after),
        *_factor(before.second_factor, after.second_factor),
        *_escalations(before, after),
        *_reminders(before, after),
        *_texts(old, new),
    ]
    order = list(Direction)
    return tuple(sorted(found, key=lambda change: order.index(change.direction)))


# --- stages --------------------------------------------------------------------------------------
def _stages(old: tuple[Stage, ...], new: tuple[Stage, ...]) -> Iterator[GateChange]:
    pairs = _paired(old, new)
    for before, after in pairs:
        if before is None and after is not None:
            yield _change(
                f"/stages/{new.index(after)}",
                Direction.NARROWS,
                f"Stage {after.name} is new",
                "A further group has to agree.",
                "",
                _words(after),
            )
        elif after is None and before is not None:
            yield _change(
                "/stages",
                Direction.WIDENS,
                f"Stage {before.name} is gone",
                "Its people are not asked any more.",
                _words(before),
                "",
            )
        elif before is not None and after is not None:
            yield from _stage(f"/stages/{new.index(after)}", before, after)
    yield from _order(pairs, old, new)


def _paired(
    old: tuple[Stage, ...], new: tuple[Stage, ...]
) -> list[tuple[Stage | None, Stage | None]]:
    """Stages of one name belong together; the others of the same place with the same groups."""
    by_name = {stage.name: stage for stage in old}
    left = [stage for stage in old if stage.name not in {item.name for item in new}]
    pairs: list[tuple[Stage | None, Stage | None]] = []
    for stage in new:
        before = by_name.get(stage.name)
        if before is None:
            before = next((item for item in left if set(item.groups) == set(stage.groups)), None)
            left = [item for item in left if item is not before]
        pairs.append((before, stage))
    return [*pairs, *((stage, None) for stage in left)]


def _stage(pointer: str, before: Stage, after: Stage) -> Iterator[GateChange]:
    if before.name != after.name:
        yield _change(
            f"{pointer}/name", Direction.NEUTRAL, "A stage is renamed", "", before.name, after.name
        )
    if before.quorum != after.quorum:
        fewer = after.quorum < before.quorum
        yield _change(
            f"{pointer}/quorum",
            Direction.WIDENS if fewer else Direction.NARROWS,
            f"Stage {after.name}: {'fewer' if fewer else 'more'} people",
            "Fewer people have to agree." if fewer else "More people have to agree.",
            _people(before.quorum),
            _people(after.quorum),
        )
    yield from _groups(f"{pointer}/groups", f"Stage {after.name}", before.groups, after.groups)


def _groups(
    pointer: str, place: str, old: tuple[str, ...], new: tuple[str, ...]
) -> Iterator[GateChange]:
    """Both ways widen: who comes may say yes, and who goes can't say no any more."""
    added, removed = sorted(set(new) - set(old)), sorted(set(old) - set(new))
    if not added and not removed:
        return
    title = f"{place}: {'more' if added and not removed else 'other' if added else 'fewer'} groups"
    why = [
        f"People of {', '.join(added)} may vote too." if added else "",
        f"People of {', '.join(removed)} can't say no here any more." if removed else "",
    ]
    said = " ".join(filter(None, why))
    yield _change(
        pointer, Direction.WIDENS, title, said, ", ".join(sorted(old)), ", ".join(sorted(new))
    )


def _order(
    pairs: list[tuple[Stage | None, Stage | None]], old: tuple[Stage, ...], new: tuple[Stage, ...]
) -> Iterator[GateChange]:
    kept = [(before, after) for before, after in pairs if before is not None and after is not None]
    places = [old.index(before) for before, _ in kept]
    if places != sorted(places):
        yield _change(
            "/stages",
            Direction.NEUTRAL,
            "The stages come in another order",
            "All of them still have to agree.",
            ", then ".join(stage.name for stage in old),
            ", then ".join(stage.name for stage in new),
        )


# --- numbers, factor -----------------------------------------------------------------------------
def _numbers(before: GateTerms, after: GateTerms) -> Iterator[GateChange]:
    if before.deny_threshold != after.deny_threshold:
        harder = after.deny_threshold > before.deny_threshold
        yield _change(
            "/deny_threshold",
            Direction.WIDENS if harder else Direction.NARROWS,
            "Rejections that end a request",
            "One no is heard less." if harder else "It takes fewer to stop a request.",
            str(before.deny_threshold),
            str(after.deny_threshold),
        )
    if before.expires_after_seconds != after.expires_after_seconds:
        longer = after.expires_after_seconds > before.expires_after_seconds
        yield _change(
            "/expires_after_seconds",
            Direction.WIDENS if longer else Direction.NARROWS,
            "How long a request waits",
            "An old request can still be approved." if longer else "Requests expire sooner.",
            in_words(before.expires_after_seconds),
            in_words(after.expires_after_seconds),
        )


def _factor(before: FactorRule, after: FactorRule) -> Iterator[GateChange]:
    if before is after:
        return
    looser = _STRICTNESS[after] < _STRICTNESS[before]
    why = (
        "A stolen session can vote more often." if looser else "Votes need a fresh code more often."
    )
    yield _change(
        "/second_factor",
        Direction.WIDENS if looser else Direction.NARROWS,
        "Second factor at the vote",
        why,
        before.value,
        after.value,
    )


# --- escalations, reminders, texts ---------------------------------------------------------------
def _escalations(before: GateTerms, after: GateTerms) -> Iterator[GateChange]:
    """Compared by what they do: from which second on each group may say yes, and may say no."""
    old, new = _brought_in(before), _brought_in(after)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        sooner = now is not None and (was is None or now < was)
        yield _change(
            "/escalations",
            Direction.WIDENS,
            f"Escalation to {name}",
            "They may say yes sooner." if sooner else "They may say no later, or not at all.",
            _after(was),
            _after(now),
        )


def _brought_in(terms: GateTerms) -> dict[str, int]:
    found: dict[str, int] = {}
    for step in terms.escalations:
        for name in step.groups:
            found.setdefault(name, step.after_seconds)
    return found


def _reminders(before: GateTerms, after: GateTerms) -> Iterator[GateChange]:
    if before.reminders_after_seconds != after.reminders_after_seconds:
        yield _change(
            "/reminders_after_seconds",
            Direction.NEUTRAL,
            "Reminders",
            "They decide nothing.",
            _times(before.reminders_after_seconds),
            _times(after.reminders_after_seconds),
        )


def _texts(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[GateChange]:
    for name, title in _TEXTS:
        before, after = str(old.get(name) or ""), str(new.get(name) or "")
        if before != after:
            yield _change(f"/{name}", Direction.NEUTRAL, title, "", before, after)


# --- words ---------------------------------------------------------------------------------------
def _change(
    pointer: str, direction: Direction, title: str, why: str, before: str, after: str
) -> GateChange:
    return GateChange(pointer, direction, title, why, before, after)


def _people(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"


def _words(stage: Stage) -> str:
    return f"{_people(stage.quorum)} of {', '.join(stage.groups)}"


def _after(seconds: int | None) -> str:
    return "" if seconds is None else f"after {in_words(seconds)}"


def _times(seconds: tuple[int, ...]) -> str:
    return ", ".join(_after(item) for item in seconds)
