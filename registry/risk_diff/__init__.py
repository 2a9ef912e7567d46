"""What a new manifest version makes riskier: the risk diff that reviewers read first."""

# Importing the rules enters them in the rulebook.
from registry.risk_diff import rules
from registry.risk_diff.diff import diff_manifests
from registry.risk_diff.reference import render_reference
from registry.risk_diff.rulebook import Rule
from registry.risk_diff.rulebook import rules as all_rules
from registry.risk_diff.types import Change, Direction, RiskDiff, Verdict

__all__ = [
    "Change",
    "Direction",
    "RiskDiff",
    "Rule",
    "Verdict",
    "all_rules",
    "diff_manifests",
    "render_reference",
    "rules",
]
