"""For authors of function adapters: register callables, report errors, do long work in steps.

This module is imported in the runner, a child process without database, keys or Django:

    from gateway.functions import ToolError, function

    @function("orders_lookup")
    def orders_lookup(args, call):
        ...
        return {"order_id": args["order_id"], "status": "delivered"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Callee = Callable[[dict[str, Any], "Call"], Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What a function may know of the call it serves."""

    tool_call_id: str
    tenant_id: str
    capability_id: str
    attempt: int
    idempotency_key: str | None = None
    traceparent: str = ""
    task: Mapping[str, Any] | None = None  # on a poll: the handle `Working` gave
    answer: Mapping[str, Any] | None = None  # after InputRequired: what was answered


class ToolError(Exception):
    """The tool itself says no: the caller can read it and correct the call."""

    def __init__(
        self, code: str, message: str, *, retryable: bool = False, remediation: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.retryable, self.remediation = retryable, remediation


@dataclass(frozen=True, slots=True)
class Working:
    """Not finished: ask again later with this handle."""

    task: Mapping[str, Any]
    poll_after_ms: int = 1000


@dataclass(frozen=True, slots=True)
class InputRequired:
    """Needs an answer first: a flat JSON Schema and why each field is wanted."""

    task: Mapping[str, Any]
    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Costs:
    """An output together with what it cost."""

    output: Any
    cost_cents: int


@dataclass(frozen=True, slots=True)
class Changed:
    """An output together with what was changed: `{kind, ref, reversal_token?}` for each change."""

    output: Any
    mutations: Sequence[Mapping[str, str]]
    cost_cents: int | None = None


@dataclass(slots=True)
class Registration:
    """One function by the name its manifest binds to."""

    name: str
    callee: Callee
    poll: Callee | None = None
    cancel: Callee | None = None


@dataclass(slots=True)
class Registrations:
    """What the runner's modules registered."""

    by_name: dict[str, Registration] = field(default_factory=dict)

    def add(self, registration: Registration) -> None:
        """Two functions of one name are a mistake of the author."""
        if registration.name in self.by_name:
            raise ValueError(f"the function {registration.name!r} is registered twice")
        self.by_name[registration.name] = registration


registrations = Registrations()


def function(
    name: str, *, version: str = "", poll: Callee | None = None, cancel: Callee | None = None
) -> Callable[[Callee], Callee]:
    """Register a callable under the manifest's `function_name`: `name`, or `name@version`.

    Versions stand side by side, so that a run goes on with what its pinned manifest names.
    """

    def register(callee: Callee) -> Callee:
        called = f"{name}@{version}" if version else name
        registrations.add(Registration(called, callee, poll, cancel))
        return callee

    return register
