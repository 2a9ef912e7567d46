"""The inputs of past policy decisions, which the gateway keeps and the registry only asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

MOST_RECORDED = 1000


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """What one call brought before the policy, in the form of `PolicyInputs.document`.

    No document means that it can't be put together any more: erased, or its manifest is not
    trusted.
    """

    decision_id: str
    recorded_at: str
    document: Mapping[str, Any] | None
    capability_id: str = ""
    agent_id: str = ""
    tool_call_id: str = ""  # empty for a call that was refused


Provider = Callable[[str, int], Iterable[RecordedInput]]


def recorded_inputs(tenant_id: str, count: int) -> Iterable[RecordedInput]:
    """The last inputs of a tenant, newest first, through the callable that settings name."""
    name = settings.CONTEXTOS_POLICY_INPUTS_PROVIDER
    if not name:
        return ()
    provider: Provider = import_string(name)
    return provider(tenant_id, min(count, MOST_RECORDED))
