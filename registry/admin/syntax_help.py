"""The policy language as the editor explains it; a test holds it against the language itself."""

from __future__ import annotations

from dataclasses import dataclass

from registry.policy.logic import MAX_DEPTH, MAX_NODES, READABLE_ROOTS


@dataclass(frozen=True, slots=True)
class OperatorGroup:
    """Operators that do the same kind of thing."""

    title: str
    operators: tuple[str, ...]
    example: str


OPERATOR_GROUPS = (
    OperatorGroup("Read", ("var", "missing", "missing_some"), '{"var": "request.args.amount_inr"}'),
    OperatorGroup(
        "Compare",
        ("==", "===", "!=", "!==", "<", "<=", ">", ">=", "in"),
        '{"<=": [{"var": "request.args.amount_inr"}, 500]}',
    ),
    OperatorGroup(
        "Combine",
        ("and", "or", "!", "!!", "if", "?:"),
        '{"or": [{"!": {"var": "user.role"}}, {"==": [{"var": "run.environment"}, "production"]}]}',
    ),
    OperatorGroup(
        "Calculate",
        ("+", "-", "*", "/", "%", "min", "max", "abs", "ceil", "floor", "length"),
        '{"<": [{"*": [{"var": "request.args.quantity"}, 100]}, 5000]}',
    ),
    OperatorGroup(
        "Text",
        ("cat", "substr", "starts_with", "ends_with", "lower", "upper", "trim"),
        '{"starts_with": [{"var": "request.args.transaction_id"}, "txn_"]}',
    ),
    OperatorGroup(
        "Lists",
        ("map", "filter", "reduce", "all", "some", "none", "merge"),
        '{"in": ["tainted", {"merge": [{"var": "run.flags"}]}]}',
    ),
)
ROOTS = {
    "user.": "the person on whose behalf, with role and delegation",
    "agent.": "the agent that calls",
    "run.": "intent, environment, safety_mode, flags, tenant_id",
    "request.args.": "the arguments of the call",
    "request.context.": "what the run was opened with",
    "capability.": "the manifest's own fields: capability_id, approval_mode, capability_class",
    "evidence.": "refs that resolve, and the keys they are known by",
    "time.": "now, date, hour, minute, weekday, epoch_seconds, in UTC",
}
EFFECTS = (
    ('{"allow": false}', "deny; nothing outweighs it"),
    (
        '{"allow": true, "requires_approval_gate": "GATE_FINANCE_APPROVAL", "quorum": 2}',
        "two people of the gate have to agree",
    ),
    ('{"allow": true, "approval_mode": "delegated"}', "run in a lower mode, never in a higher one"),
    (
        '{"allow": true, "approval_mode": "delegated", "requires_approval_gate": null}',
        "lower it and do without the manifest's gate",
    ),
    (
        '{"allow": true, "arg_constraints": {"amount_inr": {"max": 500}}}',
        "allow only within these bounds",
    ),
    (
        '{"allow": true, "requires": ["evidence", "user_delegation"]}',
        "allow only if the call brings these",
    ),
)


def help_context() -> dict[str, object]:
    """What the help beside the editor shows."""
    return {
        "operator_groups": OPERATOR_GROUPS,
        "roots": [(root, ROOTS[root]) for root in READABLE_ROOTS],
        "effects": EFFECTS,
        "max_depth": MAX_DEPTH,
        "max_nodes": MAX_NODES,
    }
