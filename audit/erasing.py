"""What apps hold of a value in a form of their own, and how it goes when the value is erased.

An app names its part in a module `erasable.py` as `ERASER`; audit never looks upwards itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Protocol

from audit.selections import Selection
from contextos.core.events import Actor
from contextos.identity.contributions import contributed_modules

AT_ONCE = 200


class Eraser(Protocol):
    """One app's part in an erasure. Every method works on a batch of decisions of one tenant."""

    def consequences(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """What people should know before they say yes: sentence -> how many."""

    def settle(self, tenant_id: str, decision_ids: Collection[str], actor: Actor) -> frozenset[str]:
        """End what has not begun; the decisions that are under way and can't be erased yet."""

    def erase(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Take away every other form of the values: place -> rows changed. Safe to repeat."""

    def erase_alongside(self, selection: Selection) -> Mapping[str, int]:
        """What the selection covers though no decision came of it."""

    def forget(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """The records of these decisions are purged: remove what was copied from them."""

    def let_go(self, tenant_id: str, before: datetime) -> Mapping[str, int]:
        """Remove what was kept as long as events are, of decisions that were purged: at most
        `AT_ONCE` of them a call; place -> rows removed, empty when nothing is left to do."""

    def decision_of(self, tenant_id: str, reference: str) -> str:
        """The decision behind another id of this app, such as a call's; empty when none."""


class NoEraser:
    """An eraser that has nothing to do; others override what they need."""

    def consequences(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Nothing to say."""
        return {}

    def settle(self, tenant_id: str, decision_ids: Collection[str], actor: Actor) -> frozenset[str]:
        """Nothing is ever under way."""
        return frozenset()

    def erase(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Nothing is held."""
        return {}

    def erase_alongside(self, selection: Selection) -> Mapping[str, int]:
        """Nothing is held."""
        return {}

    def forget(self, tenant_id: str, decision_ids: Collection[str]) -> Mapping[str, int]:
        """Nothing was copied."""
        return {}

    def let_go(self, tenant_id: str, before: datetime) -> Mapping[str, int]:
        """Nothing is kept any longer than its record."""
        return {}

    def decision_of(self, tenant_id: str, reference: str) -> str:
        """No ids of its own."""
        return ""


def erasers() -> Iterator[Eraser]:
    """Of every installed app that holds values in a form of its own."""
    for module in contributed_modules("erasable"):
        yield module.ERASER


def all_consequences(tenant_id: str, decision_ids: Collection[str]) -> dict[str, int]:
    """Of all apps together, without what does not apply."""
    found: Counter[str] = Counter()
    for eraser in erasers():
        found.update(eraser.consequences(tenant_id, decision_ids))
    return {sentence: number for sentence, number in found.items() if number}


def settle_all(tenant_id: str, decision_ids: Collection[str], actor: Actor) -> frozenset[str]:
    """Decisions that some app still works on."""
    return frozenset().union(*(e.settle(tenant_id, decision_ids, actor) for e in erasers()))


def erase_everywhere(tenant_id: str, decision_ids: Collection[str]) -> dict[str, int]:
    """Every form in every app: place -> rows changed."""
    found: Counter[str] = Counter()
    for eraser in erasers():
        found.update(eraser.erase(tenant_id, decision_ids))
    return {place: number for place, number in found.items() if number}


def decision_behind(tenant_id: str, reference: str) -> str:
    """A decision id as it is; for a call's or another app's id the decision it led to."""
    if reference.startswith("dec_"):
        return reference
    found = (eraser.decision_of(tenant_id, reference) for eraser in erasers())
    return next((decision_id for decision_id in found if decision_id), "")
