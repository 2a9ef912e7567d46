"""Refusals of policy, mode and approval routing."""

from __future__ import annotations

from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Ref, Refused, Step, Today, Way
from gateway.explaining.wording import ADMIN, AUTHOR, DEVELOPER, listed, remedy, said, titled

_POLICIES = Ref("bundle", "", "Policies")


@explains("policy.denied_by_rule", "policy.refused_by_guardrail")
def explain_rule(refused: Refused, today: Today) -> Explanation:
    """A rule or a guardrail says no to this very call."""
    rules = _rules(refused)
    guardrail = refused.code == "policy.refused_by_guardrail"
    name = rules[0].text if rules else "a rule"
    return Explanation(
        step=Step.POLICY if refused.policy else Step.RESOLVE,
        headline=f"The {'guardrail' if guardrail else 'rule'} {name} says no.",
        because=[
            *said(refused),
            "A guardrail outweighs every rule; nothing in the request lifts it."
            if guardrail
            else "A denial outweighs every approval and every permission.",
        ],
        ways=[
            *(
                []
                if guardrail
                else [
                    Way(
                        "Change the request so that the rule's condition no longer holds; "
                        "open the rule to read it.",
                        DEVELOPER,
                        rules[0] if rules else _POLICIES,
                    )
                ]
            ),
            Way(
                "Try the request in the simulator against a draft, and have the draft reviewed.",
                AUTHOR,
                rules[0] if rules else _POLICIES,
            ),
        ],
        involved=[refused.capability, *rules, *_bundles(refused)],
    )


@explains("policy.evaluation_error", "policy.conflict")
def explain_broken_rule(refused: Refused, today: Today) -> Explanation:
    """The policy itself is at fault; until it is mended the call stays denied."""
    rules = _rules(refused)
    return Explanation(
        step=Step.POLICY,
        headline=titled(refused),
        because=[
            *said(refused),
            "What can't be decided is denied: no other request of this kind passes either.",
        ],
        ways=[Way("Correct the rule and publish the bundle again.", AUTHOR, _first(rules))],
        involved=[refused.capability, *rules, *_bundles(refused)],
    )


@explains("policy.no_bundle", "policy.bundle_missing", "policy.bundle_unusable")
def explain_no_policy(refused: Refused, today: Today) -> Explanation:
    """Without a policy in force nothing is allowed."""
    return Explanation(
        step=Step.RESOLVE if refused.policy is None else Step.POLICY,
        headline=titled(refused),
        because=[
            *said(refused),
            "A missing or broken policy makes nobody freer: every call is denied meanwhile.",
        ],
        missing=["A published policy bundle whose signature holds"],
        ways=[remedy(refused, ADMIN, _POLICIES)],
        involved=[refused.capability],
    )


@explains("policy.delegation_missing", "policy.evidence_missing")
def explain_footing(refused: Refused, today: Today) -> Explanation:
    """A delegated call stands on a person and on evidence."""
    delegation = refused.code == "policy.delegation_missing"
    ways = (
        [
            Way("Open the run with the person's token as X-User-Delegation, and call again."),
            Way("Issue that person a token they can lend to the agent.", ADMIN),
        ]
        if delegation
        else [
            Way("First make a call whose result mints evidence, then name it in evidence_refs."),
        ]
    )
    return Explanation(
        step=Step.POLICY,
        headline="The call acts on somebody's behalf and does not say for whom."
        if delegation
        else "The call acts on somebody's behalf and brings no evidence.",
        because=[
            *said(refused),
            (
                "No rule speaks of this call, so the default of delegated calls holds: a valid "
                "delegation and at least one evidence_ref that resolves in the tenant."
            ),
        ],
        missing=["A user delegation" if delegation else "At least one evidence_ref of this tenant"],
        ways=[*ways, _rule_instead()],
        involved=refused.call,
    )


_OBLIGATIONS = {
    "user_delegation": ("A user delegation", "Open the run with the person's token."),
    "evidence": ("At least one evidence_ref", "Name evidence that resolves in this tenant."),
    "idempotency_key": ("An idempotency key", "Send a fresh idempotency_key."),
}


@explains("policy.obligation_unmet")
def explain_obligation(refused: Refused, today: Today) -> Explanation:
    """Policy says yes, with conditions that the call does not meet."""
    policy = refused.policy or {}
    requires = [str(item) for item in policy.get("requires") or ()]
    prohibits = [str(item) for item in policy.get("prohibits") or ()]
    rules = _rules(refused)
    return Explanation(
        step=Step.POLICY,
        headline="Policy allows this call only with more than it brings.",
        because=said(refused),
        missing=[_obligation(item)[0] for item in requires]
        + [f"The absence of {_obligation(item)[0].lower()}" for item in prohibits],
        ways=[
            *(Way(_obligation(item)[1]) for item in requires),
            *(Way(f"Leave {item.removeprefix('arg:')} out.") for item in prohibits),
            Way("Have the rule ask for less, by review.", AUTHOR, _first(rules)),
        ],
        involved=[refused.capability, *rules],
    )


def _obligation(item: str) -> tuple[str, str]:
    word, _, detail = item.partition(":")
    if word == "evidence" and detail:
        return f"Evidence that carries {detail}", f"Name evidence whose keys include {detail}."
    if word == "arg" and detail:
        return f"The argument {detail}", f"Give the argument {detail}."
    return _OBLIGATIONS.get(item, (item, f"Bring {item}."))


@explains("mode.above_maximum", "mode.unknown")
def explain_requested_mode(refused: Refused, today: Today) -> Explanation:
    """The mode asked for is none, or more than was reviewed."""
    highest = refused.mode_highest or "the declared one"
    return Explanation(
        step=Step.POLICY,
        headline=titled(refused),
        because=[
            *said(refused),
            "Nobody raises a mode above what the reviewed manifest declares.",
        ],
        missing=[f"A requested mode of {highest} or lower"],
        ways=[
            Way("Leave approval_mode_requested out, or ask for a lower mode."),
            Way("Have a manifest with a higher mode reviewed.", AUTHOR, refused.capability),
        ],
        involved=[refused.capability],
    )


@explains("mode.above_safety_mode")
def explain_safety_mode(refused: Refused, today: Today) -> Explanation:
    """The run was opened for less than this call does."""
    limit = today.run.safety_mode if today.run else "a lower mode"
    needed = refused.mode_effective or refused.mode_highest or "its mode"
    return Explanation(
        step=Step.POLICY,
        headline=f"The run may reach {limit}, and this call is {needed}.",
        because=said(refused),
        missing=[f"A run whose safety_mode is {needed} or higher"],
        ways=[
            Way(f"Open a run with safety_mode {needed}, if the agent's token carries it."),
            Way("Have policy lower the mode for bounded requests.", AUTHOR, _POLICIES),
            Way("Issue a token with a higher mode.", ADMIN, Ref("token", "", "Tokens")),
        ],
        involved=refused.call,
    )


@explains("mode.above_permission")
def explain_permission_mode(refused: Refused, today: Today) -> Explanation:
    """The pack permits the capability, in a lower mode."""
    granting = [item for item in today.permissions if item.allow]
    modes = sorted({item.approval_mode for item in granting if item.approval_mode})
    limit = listed(modes) or "a lower mode"
    return Explanation(
        step=Step.ROUTE,
        headline=f"The Context Pack permits {limit}, and the call would run as "
        f"{refused.mode_effective or 'more'}.",
        because=[
            "A permission names the highest mode it covers; policy decided that this call is above."
        ],
        missing=[f"A permission that covers {refused.mode_effective or 'the mode'}"],
        ways=[
            Way("Call with arguments for which policy lowers the mode, if there are such."),
            *(Way("Raise the permission's mode by review.", AUTHOR, item.ref) for item in granting),
        ],
        involved=[refused.capability, *(item.ref for item in granting)],
    )


@explains("policy.gate_missing", "approval.gate_unavailable")
def explain_gate(refused: Refused, today: Today) -> Explanation:
    """People have to agree, and there is nobody to ask."""
    gate = (refused.policy or {}).get("requires_approval_gate")
    named = f" {gate}" if gate else ""
    missing = refused.code == "policy.gate_missing"
    return Explanation(
        step=Step.POLICY if missing else Step.ROUTE,
        headline="People have to approve this call, and no gate is named."
        if missing
        else f"The gate{named} has no approvers, so nobody can approve this call.",
        because=[
            *said(refused),
            "Nothing runs past a gate that nobody keeps.",
        ],
        missing=["A gate in the manifest or in a rule" if missing else f"Approvers at{named}"],
        ways=[
            Way("Name a gate for this capability, by review.", AUTHOR, _first(_rules(refused)))
            if missing
            else Way("Set the gate up: its groups and its quorum.", ADMIN),
            Way("Have policy lower the mode for bounded requests.", AUTHOR, _POLICIES),
        ],
        involved=[refused.capability, *_rules(refused)],
    )


def _rule_instead() -> Way:
    return Way("Have a rule for this call reviewed: a rule takes the default's place.", AUTHOR)


def _rules(refused: Refused) -> list[Ref]:
    return [Ref("rule", rule) for rule in refused.rules]


def _bundles(refused: Refused) -> list[Ref]:
    return [Ref("bundle", ref) for ref in refused.bundles]


def _first(refs: list[Ref]) -> Ref:
    return refs[0] if refs else _POLICIES
