"""What is wrong with a policy bundle, what its own tests say, and what a reviewer should see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from registry.known_names import known_names
from registry.policy import check_bundle, run_bundle_tests
from registry.readiness.findings import Finding, Severity
from registry.schema_explain import show


def examine_bundle(tenant_id: str, document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Everything a submission or a reviewer has to know."""
    blocking = tuple(_invalid(document)) or tuple(_blocking(tenant_id, document))
    return blocking or tuple(_warnings(tenant_id, document))


def _invalid(document: Mapping[str, Any]) -> Iterator[Finding]:
    for problem in check_bundle(document):
        yield Finding(
            "bundle.invalid",
            Severity.BLOCK,
            problem.pointer,
            problem.message,
            "Correct this place; the syntax help beside the editor lists what is allowed.",
        )


def _blocking(tenant_id: str, document: Mapping[str, Any]) -> Iterator[Finding]:
    tenant = document.get("tenant")
    if tenant is not None and tenant != tenant_id:
        yield Finding(
            "bundle.foreign_tenant",
            Severity.BLOCK,
            "/tenant",
            f"The bundle speaks for {show(tenant)}, so it would never be asked here.",
            "Leave `tenant` out, or name this tenant.",
        )
    for result in run_bundle_tests(document):
        if not result.passed:
            yield Finding(
                "bundle.test_failed",
                Severity.BLOCK,
                f"/tests/{result.index}",
                f"The test {show(result.name)} fails: {result.differences[0]}",
                "Correct the rule, or the expectation if the rule is right.",
            )


def _warnings(tenant_id: str, document: Mapping[str, Any]) -> Iterator[Finding]:
    if not document.get("tests"):
        yield Finding(
            "bundle.tests_missing",
            Severity.WARN,
            "/tests",
            "The bundle carries no tests, so nothing shows that it decides as meant.",
            "Add a test for each rule: an input and the decision it has to lead to.",
        )
    names = known_names(tenant_id)
    for index, rule in enumerate(document["rules"]):
        place = f"/rules/{index}"
        yield from _loosening(rule, place)
        for spelling in _named_capabilities(rule):
            if not names.knows(spelling):
                yield Finding(
                    "rule.capability_unknown",
                    Severity.WARN,
                    f"{place}/applies_to/capability",
                    f"Nothing published is called {show(spelling)}.",
                    "Check the spelling: a rule for a misspelt capability never applies.",
                )


def _loosening(rule: Mapping[str, Any], place: str) -> Iterator[Finding]:
    then = rule["then"]
    if then["allow"] and then.get("requires_approval_gate", "") is None:
        yield Finding(
            "rule.removes_gate",
            Severity.WARN,
            f"{place}/then/requires_approval_gate",
            f"The rule {show(rule['rule_id'])} lets calls pass without the manifest's gate.",
            "Make sure that the condition bounds what may pass without a person.",
        )
    if then["allow"] and rule["if"] is True and not rule["applies_to"]:
        yield Finding(
            "rule.allows_everything",
            Severity.WARN,
            place,
            f"The rule {show(rule['rule_id'])} allows every call of every capability.",
            "Name what it applies to, or write the condition that is meant.",
        )


def _named_capabilities(rule: Mapping[str, Any]) -> list[str]:
    named = rule["applies_to"].get("capability", [])
    return [named] if isinstance(named, str) else list(named)
