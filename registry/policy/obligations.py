"""The words in a decision's `requires` and `prohibits` that the gateway can check by itself."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from registry.policy.constraints import ABSENT, look_up
from registry.policy.engine import has_delegation, has_evidence
from registry.policy.types import PolicyDecision, PolicyInputs

ARGUMENT = "arg:"  # followed by the path of an argument

_KNOWN: Mapping[str, Callable[[PolicyInputs, bool], bool]] = MappingProxyType(
    {
        "user_delegation": lambda inputs, _: has_delegation(inputs),
        "evidence": lambda inputs, _: has_evidence(inputs),
        "idempotency_key": lambda _, has_key: has_key,
    }
)


def unmet_obligations(
    decision: PolicyDecision, inputs: PolicyInputs, *, has_idempotency_key: bool
) -> tuple[str, ...]:
    """What the call fails to bring; a requirement nobody can check counts as unmet.

    Known: `user_delegation`, `evidence`, `evidence:<key>`, `idempotency_key`, `arg:<path>`; of
    these `prohibits` takes `arg:<path>` and `user_delegation`.
    """
    unmet = [
        f"requires {item}"
        for item in decision.requires
        if not _is_met(item, inputs, has_idempotency_key)
    ]
    unmet.extend(f"prohibits {item}" for item in decision.prohibits if _is_present(item, inputs))
    return tuple(unmet)


def _is_met(item: str, inputs: PolicyInputs, has_idempotency_key: bool) -> bool:
    word, _, detail = item.partition(":")
    if word == "evidence" and detail:
        keys = inputs.evidence.get("keys")
        return isinstance(keys, list) and detail in keys
    if word == "arg" and detail:
        return look_up(inputs.args, detail) is not ABSENT
    known = _KNOWN.get(item)
    return known is not None and known(inputs, has_idempotency_key)


def _is_present(item: str, inputs: PolicyInputs) -> bool:
    word, _, detail = item.partition(":")
    if word == "arg" and detail:
        return look_up(inputs.args, detail) is not ABSENT
    if item == "user_delegation":
        return has_delegation(inputs)
    return True
