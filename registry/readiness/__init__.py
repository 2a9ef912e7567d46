"""Readiness: every rule a manifest must pass before it can be submitted, each with its own id."""

from registry.readiness.catalogue import Rule, all_rules, rule_by_id
from registry.readiness.engine import lint_bytes, lint_document, lint_manifest
from registry.readiness.findings import Finding, Report, Severity, Verdict

__all__ = [
    "Finding",
    "Report",
    "Rule",
    "Severity",
    "Verdict",
    "all_rules",
    "lint_bytes",
    "lint_document",
    "lint_manifest",
    "rule_by_id",
]
