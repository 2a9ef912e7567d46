"""The next version of a frozen value is what `dataclasses.replace` would make of it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any

import pytest

from audit.decision_record import DecisionFacts
from contextos.core.changing import changed
from gateway.context import CallContext
from registry.policy.types import PolicyDecision


@dataclass(frozen=True, kw_only=True)
class Point:
    x: int = 1
    y: int = 2


def test_it_is_what_replace_makes_and_the_first_stays_as_it_was() -> None:
    first = Point()
    assert changed(first, y=5) == replace(first, y=5) == Point(x=1, y=5)
    assert first == Point()
    with pytest.raises(FrozenInstanceError):
        changed(first, y=5).x = 9  # type: ignore[misc]


def test_a_member_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="'z'"):
        changed(Point(), z=1)


@pytest.mark.parametrize("kind", [CallContext, DecisionFacts, PolicyDecision])
def test_what_is_changed_so_has_nothing_but_its_members(kind: Any) -> None:
    assert not hasattr(kind, "__post_init__")
    assert not hasattr(kind, "__slots__")
    assert all(field.init for field in fields(kind))
