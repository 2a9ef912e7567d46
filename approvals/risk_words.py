"""What is risky about a request, in sentences computed from typed facts alone; pure.

Nothing an agent wrote is among the facts, so nothing it writes can change a word here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

Weight = Literal["high", "medium", "low"]
OFFICE_OPENS, OFFICE_CLOSES = 7, 19  # UTC, Monday to Friday
SATURDAY = 5
_MODES: dict[str, tuple[Weight, str]] = {
    "destructive": ("high", "This is a destructive call, the riskiest kind there is."),
    "delegated": ("medium", "This call acts outside with the authority of the person it is for."),
    "network": ("medium", "This call reaches a system outside."),
    "local_write": ("low", "This call changes something inside only."),
    "read_only": ("low", "This call only reads."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskFacts:
    """What the sentences are made from; all of it measured, none of it told."""

    mode: str
    reversible: bool
    asked_at: datetime
    amount: Decimal | None = None
    unit: str = ""
    largest_approved: Decimal | None = None  # of this capability, in the same unit
    asked_before_by_agent: int = 0  # this capability, by this agent
    asked_before_by_anyone: int = 0  # this capability
    rejected_before: tuple[int, int] = (0, 0)  # rejected, of so many that ended
    alike_waiting: int = 1
    on_behalf_of_person: bool = True


@dataclass(frozen=True, slots=True)
class Sentence:
    """One thing to know before deciding."""

    weight: Weight
    text: str


def risk_words(facts: RiskFacts, amount: Callable[[Decimal, str], str]) -> tuple[Sentence, ...]:
    """The sentences, heaviest first; `amount` writes a sum as the reader is used to."""
    order = {"high": 0, "medium": 1, "low": 2}
    said = [*_what_it_does(facts), *_how_much(facts, amount), *_how_usual(facts), *_around(facts)]
    return tuple(sorted(said, key=lambda sentence: order[sentence.weight]))


def _what_it_does(facts: RiskFacts) -> Iterator[Sentence]:
    weight, text = _MODES.get(
        facts.mode, ("high", "Its mode is not known, so treat it as destructive.")
    )
    yield Sentence(weight, text)
    if facts.reversible:
        yield Sentence("low", "It can be reversed: its answer carries a reversal token.")
    elif facts.mode != "read_only":
        yield Sentence("high", "It can't be taken back once it ran.")


def _how_much(facts: RiskFacts, amount: Callable[[Decimal, str], str]) -> Iterator[Sentence]:
    if facts.amount is None:
        return
    shown, largest = amount(facts.amount, facts.unit), facts.largest_approved
    if largest is None:
        yield Sentence("medium", f"It is about {shown}; none was approved before to compare with.")
    elif facts.amount > largest:
        before = amount(largest, facts.unit)
        yield Sentence("high", f"{shown} is more than was ever approved here (at most {before}).")
    else:
        before = amount(largest, facts.unit)
        yield Sentence("low", f"{shown} is within what was approved here before (up to {before}).")


def _how_usual(facts: RiskFacts) -> Iterator[Sentence]:
    if facts.asked_before_by_anyone == 0:
        yield Sentence("high", "Nobody has asked for this capability here before.")
    elif facts.asked_before_by_agent == 0:
        yield Sentence("medium", "This agent asks for this capability for the first time.")
    rejected, ended = facts.rejected_before
    if rejected:
        were = "was" if rejected == 1 else "were"
        yield Sentence("medium", f"Of {ended} asked for before, {rejected} {were} rejected.")
    if facts.alike_waiting > 1:
        others = facts.alike_waiting
        yield Sentence("high", f"The very same ask waits {others} times: is it meant that often?")


def _around(facts: RiskFacts) -> Iterator[Sentence]:
    at = facts.asked_at.astimezone(UTC)
    if at.weekday() >= SATURDAY or not OFFICE_OPENS <= at.hour < OFFICE_CLOSES:
        hours = f"Monday to Friday, {OFFICE_OPENS:02d}:00 to {OFFICE_CLOSES:02d}:00 UTC"
        yield Sentence(
            "medium", f"It was asked for on {at:%A at %H:%M} UTC, outside office hours ({hours})."
        )
    if not facts.on_behalf_of_person:
        yield Sentence("medium", "The agent asks in its own name; no person stands behind it.")
