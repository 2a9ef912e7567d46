"""A lint report as SARIF 2.1.0, for editors and code-review tools."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from contextos.core.json_places import Position
from registry.readiness.catalogue import Rule, all_rules
from registry.readiness.findings import Finding, Report, Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.BLOCK: "error", Severity.WARN: "warning", Severity.INFO: "note"}


def as_sarif(report: Report, *, name: str, positions: Mapping[str, Position]) -> dict[str, Any]:
    """The report with the description of every rule, and each finding at its line."""
    rules = all_rules()
    index = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "contextos lint_manifest",
        "rules": [_rule(rule) for rule in rules],
    }
    results = [_result(f, index[f.rule], name, positions[f.pointer]) for f in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"subject": rule.subject},
    }


def _result(finding: Finding, index: int, name: str, at: Position) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.remediation}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(name)},
                    "region": {"startLine": at.line, "startColumn": at.column},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.pointer, "kind": "member"}],
            }
        ],
    }
