"""Which calls a rule applies to: exact names, no wildcards, several alternatives at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from registry.policy.types import PolicyInputs

ASPECTS = ("intent", "capability", "capability_class", "adapter", "environment", "protocol")


@dataclass(frozen=True, slots=True)
class CallScope:
    """The names a call goes by, aspect by aspect."""

    names: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, inputs: PolicyInputs) -> CallScope:
        """Read the names off the inputs; what is absent or no text has no name at all."""
        run, capability = inputs.run, inputs.capability
        return cls(
            {
                "intent": _named(run.get("intent")),
                "capability": _capability_names(capability),
                "capability_class": _named(capability.get("capability_class")),
                "adapter": _named(capability.get("adapter_id")),
                "environment": _named(run.get("environment")),
                "protocol": _named(capability.get("protocol")),
            }
        )


def _named(value: Any) -> frozenset[str]:
    return frozenset({value}) if isinstance(value, str) else frozenset()


def _capability_names(capability: Mapping[str, Any]) -> frozenset[str]:
    own, adapter = capability.get("capability_id"), capability.get("adapter_id")
    if not isinstance(own, str):
        return frozenset()
    return spellings_of(own, adapter) if isinstance(adapter, str) else frozenset({own})


def spellings_of(capability_id: str, adapter_id: str) -> frozenset[str]:
    """Its id, and every spelling `adapter.operation` that stands for the same in a rule.

    A shortened adapter (`adp_payments` for `adp_payments_mcp`) counts too: a deny must not fall
    silent because nobody wrote the name out.
    """
    _, dot, operation = capability_id.partition(".")
    if not dot:
        return frozenset({capability_id})
    return frozenset({capability_id, *(f"{name}.{operation}" for name in _shortened(adapter_id))})


def _shortened(adapter: str) -> list[str]:
    parts = adapter.split("_")
    fewest = 2 if parts[0] == "adp" else 1
    return ["_".join(parts[:length]) for length in range(min(fewest, len(parts)), len(parts) + 1)]


@dataclass(frozen=True, slots=True)
class Selector:
    """A rule's `applies_to`; an aspect it does not name is not looked at."""

    wanted: tuple[tuple[str, frozenset[str]], ...]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Selector:
        """Read a checked `applies_to`."""
        return cls(
            tuple(
                (aspect, _alternatives(document[aspect]))
                for aspect in ASPECTS
                if aspect in document
            )
        )

    def matches(self, scope: CallScope) -> bool:
        """Whether every aspect named fits the call."""
        return all(not names.isdisjoint(scope.names[aspect]) for aspect, names in self.wanted)

    @property
    def capabilities(self) -> frozenset[str] | None:
        """The capabilities named, or None if any will do; bundles are indexed by it."""
        return dict(self.wanted).get("capability")


def _alternatives(value: Any) -> frozenset[str]:
    return frozenset({value} if isinstance(value, str) else value)
