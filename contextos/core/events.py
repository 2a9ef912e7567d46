"""How a change is told to the log from below it: who acted, and the shape of the recorder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ActorKind = Literal["user", "agent", "service", "automation"]

# Events of the installation itself (its keys, its superusers) belong to no customer.
PLATFORM_TENANT = "platform"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, as plain strings: the record outlives the person's row."""

    kind: ActorKind
    id: str
    tenant_id: str | None
    display: str

    def as_record(self) -> dict[str, str | None]:
        """The members that stand in a record."""
        return {
            "kind": self.kind,
            "id": self.id,
            "tenant_id": self.tenant_id,
            "display": self.display,
        }


def automation(name: str) -> Actor:
    """The actor of a command or a periodic task that no person started through the product."""
    return Actor(kind="automation", id=name, tenant_id=None, display=name)


class EventRecorder(Protocol):
    """Writes one event in the caller's transaction, or raises so that nothing happens at all."""

    def __call__(
        self,
        *,
        tenant_id: str,
        action: str,
        actor: Actor,
        subject_kind: str,
        subject_id: str,
        reason: str = "",
        data: Mapping[str, Any] | None = None,
        trace_id: str | None = None,
    ) -> object: ...
