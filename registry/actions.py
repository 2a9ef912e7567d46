"""The names under which the registry's changes stand in the log."""

from contextos.review.kinds import lifecycle_actions

ACTIONS = {
    "adapter.registered": "Adapter registered",
    "adapter_version.drafted": "Adapter version drafted",
    "adapter_version.edited": "Adapter draft edited",
    **lifecycle_actions("adapter_version", "Adapter version"),
    "context_pack.drafted": "Context Pack drafted",
    "context_pack.edited": "Context Pack draft edited",
    **lifecycle_actions("context_pack", "Context Pack"),
    "policy_bundle.drafted": "Policy bundle drafted",
    "policy_bundle.edited": "Policy bundle draft edited",
    **lifecycle_actions("policy_bundle", "Policy bundle"),
    "policy_bundle.enforced": "Policy bundle taken from shadow to deciding",
    "capability.quarantined": "Capability put into quarantine",
    "capability.released": "Capability released from quarantine",
    "kill_switch.thrown": "Kill switch thrown",
    "kill_switch.lifted": "Kill switch lifted",
}
