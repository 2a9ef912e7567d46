"""One change to a manifest, with the direction that a person gave it.

A family is one place in the manifest and the values that widen, narrow, leave alone or blur what
stands there. `GONE` takes the member out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from contextos.core import json_pointer
from registry.risk_diff import Direction
from tests.registry.risk_diff.manifests import (
    MONEY,
    REFUND_IN,
    REFUND_OUT,
    Manifest,
    payments,
)

GONE = object()
LOOKUP, REFUND = "/capabilities/0", "/capabilities/1"
INPUT = f"/schemas/{json_pointer.escape(REFUND_IN)}"
OUTPUT = f"/schemas/{json_pointer.escape(REFUND_OUT)}"
AMOUNT = f"/schemas/{json_pointer.escape(MONEY)}"
FORM = "/elicitation/0/schema"


@dataclass(frozen=True)
class Mutation:
    """One change, with the direction a person gave it."""

    rule: str
    pointer: str
    value: Any
    expected: Direction
    base: Callable[[], Manifest]

    def __str__(self) -> str:
        shown = "gone" if self.value is GONE else repr(self.value)
        return f"{self.expected.value}: {self.pointer} = {shown[:150]}"

    def before(self) -> Manifest:
        return self.base()

    def after(self) -> Manifest:
        manifest = self.base()
        put(manifest, self.pointer, self.value)
        return manifest


def put(manifest: Manifest, pointer: str, value: Any) -> None:
    """Set, append (last token `-`) or take out the member at a pointer."""
    *parents, last = json_pointer.split(pointer)
    owner: Any = manifest
    for token in parents:
        owner = owner[int(token)] if isinstance(owner, list) else owner[token]
    if isinstance(owner, list):
        _put_entry(owner, last, value)
    elif value is GONE:
        del owner[last]
    else:
        owner[last] = value


def _put_entry(entries: list[Any], token: str, value: Any) -> None:
    if token == "-":
        entries.append(value)
    elif value is GONE:
        del entries[int(token)]
    else:
        entries[int(token)] = value


def family(
    rule: str,
    pointer: str,
    *,
    widens: tuple[Any, ...] = (),
    narrows: tuple[Any, ...] = (),
    unknown: tuple[Any, ...] = (),
    neutral: tuple[Any, ...] = (),
    base: Callable[[], Manifest] = payments,
) -> Iterator[Mutation]:
    """The mutations of one place."""
    classed = (
        (Direction.WIDENS, widens),
        (Direction.NARROWS, narrows),
        (Direction.UNKNOWN, unknown),
        (Direction.NEUTRAL, neutral),
    )
    for direction, values in classed:
        for value in values:
            yield Mutation(rule, pointer, value, direction, base)
