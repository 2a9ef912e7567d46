"""The pack of a run, as plans are checked against it: what its permissions name, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from registry.capability_names import CapabilityName, CapabilityNames
from registry.grants import NamedCapability
from registry.packs import PermissionMatch
from registry.plans.pack import PlanCapability, PlanPack
from registry.skills import Skill, newest

# A version that was revoked takes its capabilities with it.
_STATE_BY_REFUSAL = {
    "drift.quarantined": "quarantined",
    "capability.disabled": "disabled",
    "pin.revoked": "disabled",
}


def plan_pack_of(
    named: Mapping[str, NamedCapability], skills: Iterable[Skill], adapters: Iterable[str]
) -> PlanPack:
    """Whatever no permission of the run names does not exist for its plans either.

    Aliases are not cached yet, and the mode comes from the policy itself, not from a table.
    """
    capabilities = {name: _capability(item) for name, item in named.items()}
    return PlanPack(
        names=CapabilityNames((item.name for item in capabilities.values()), adapters),
        capabilities=capabilities,
        permissions={},
        skills=newest(skills),
        aliases={},
        mode_policies={},
        matches={name: PermissionMatch(i.grants, i.denials) for name, i in named.items()},
    )


def _capability(named: NamedCapability) -> PlanCapability:
    capability = named.capability
    code = named.refusal.code if named.refusal else ""
    raw = {
        **capability.declaration,
        "capability_class": capability.capability_class.value,
        "approval_mode": capability.approval_mode.value,
        "input_schema": capability.input_schema,
        "state": _STATE_BY_REFUSAL.get(code),
    }
    name = CapabilityName.of(capability.capability_id, capability.adapter_id)
    return PlanCapability(name=name, raw=raw, schemas=capability.schemas)
