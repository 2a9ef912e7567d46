"""Why a policy decision fell as it did: reason codes, and the refusals they become."""

from enum import StrEnum

from contextos.core.errors import ErrorKind, ErrorSpec, register


class Reason(StrEnum):
    """The code that stands at the head of a decision's `reason`."""

    ALLOWED_BY_RULE = "policy.allowed_by_rule"
    ALLOWED_BY_DEFAULT = "policy.allowed_by_default"
    APPROVAL_REQUIRED = "policy.approval_required"
    DENIED_BY_RULE = "policy.denied_by_rule"
    REFUSED_BY_GUARDRAIL = "policy.refused_by_guardrail"
    NO_BUNDLE = "policy.no_bundle"
    EVALUATION_ERROR = "policy.evaluation_error"
    CONFLICT = "policy.conflict"
    GATE_MISSING = "policy.gate_missing"
    DELEGATION_MISSING = "policy.delegation_missing"
    EVIDENCE_MISSING = "policy.evidence_missing"
    PERMISSION_MISSING = "permission.missing"
    MODE_UNKNOWN = "mode.unknown"
    ABOVE_MAXIMUM = "mode.above_maximum"
    ABOVE_SAFETY_MODE = "mode.above_safety_mode"


def _refusal(code: Reason, title: str, remediation: str) -> ErrorSpec:
    return ErrorSpec(code.value, ErrorKind.POLICY, 403, title, remediation)


register(
    _refusal(
        Reason.DENIED_BY_RULE,
        "A policy rule denies this call",
        "Read the rule named in the error; change the request so that the rule no longer applies.",
    ),
    _refusal(
        Reason.REFUSED_BY_GUARDRAIL,
        "A guardrail refuses this call",
        "Nothing in the request can lift a guardrail; ask the policy's owner.",
    ),
    _refusal(
        Reason.NO_BUNDLE,
        "The tenant has no published policy",
        "Publish a policy bundle for the tenant; without one everything is denied.",
    ),
    _refusal(
        Reason.EVALUATION_ERROR,
        "A policy rule could not be evaluated",
        "Tell the policy's owner which rule failed; until it is mended the call stays denied.",
    ),
    _refusal(
        Reason.CONFLICT,
        "Policy rules contradict each other",
        "Tell the policy's owner: no request can satisfy the rules that apply here together.",
    ),
    _refusal(
        Reason.GATE_MISSING,
        "An approval gate is needed and none is named",
        "Name a gate in the manifest or in a policy rule for this capability.",
    ),
    _refusal(
        Reason.DELEGATION_MISSING,
        "A user delegation is needed",
        "Send the user's token as X-User-Delegation when opening the run.",
    ),
    _refusal(
        Reason.EVIDENCE_MISSING,
        "Evidence is needed",
        "Name at least one evidence_ref of this tenant in evidence_refs.",
    ),
    _refusal(
        Reason.PERMISSION_MISSING,
        "No Context Pack permits this capability",
        "Read the run's tool manifest; have the pack extended if the capability is needed.",
    ),
    _refusal(
        Reason.ABOVE_MAXIMUM,
        "The requested mode is above the declared maximum",
        "Ask for the capability's declared mode or a lower one.",
    ),
    _refusal(
        Reason.ABOVE_SAFETY_MODE,
        "The call would go beyond the run's safety mode",
        "Open a run with a higher safety_mode, if your token allows it.",
    ),
)
