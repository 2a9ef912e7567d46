"""The inputs of past policy decisions, which the gateway keeps and the registry only asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from contextos.core.errors import coded_error

MOST_RECORDED = 500


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """What one call brought before the policy, in the form of `PolicyInputs.document`."""

    decision_id: str
    recorded_at: str
    document: Mapping[str, Any]


Provider = Callable[[str, int], Sequence[RecordedInput]]


def recorded_inputs(tenant_id: str, count: int) -> Sequence[RecordedInput]:
    """The last inputs of a tenant, newest first, through the callable that settings name."""
    name = settings.CONTEXTOS_POLICY_INPUTS_PROVIDER
    provider: Provider | None = import_string(name) if name else None
    found = provider(tenant_id, min(count, MOST_RECORDED)) if provider is not None else ()
    if not found:
        raise coded_error("policy.no_recorded_calls")
    return found
