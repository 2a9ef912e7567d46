"""Each rule names what it should and leaves its near misses alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from registry.readiness import Severity, all_rules
from tests.registry.readiness.cases import (
    auth,
    elicitation_sampling,
    resources,
    schemas,
    shape,
    texts,
    tools,
    transport,
    writes,
)
from tests.registry.readiness.manifests import Cases, Changes, changed, findings

pytestmark = pytest.mark.proves("B4")

MODULES = (
    auth,
    elicitation_sampling,
    resources,
    schemas,
    shape,
    texts,
    tools,
    transport,
    writes,
)
CASES: Mapping[str, Cases] = {
    rule: cases for module in MODULES for rule, cases in module.CASES.items()
}

BLOCKING = (
    "manifest.field_missing",
    "capability.approval_mode.missing",
    "approval_mode.not_in_taxonomy",
    "approval_mode.contradicts_class",
    "capability.class.missing",
    "capability.duplicate_id",
    "owner.missing",
    "naming.non_specific",
    "tool.generic_request",
    "tool.read_write_mixed",
    "write.idempotency.missing",
    "write.freeform_payload",
    "schema.invalid",
    "schema.unresolved_ref",
    "schema.dialect.undeclared",
    "output_schema.missing_for_decision",
    "evidence.key_not_in_output",
    "auth.scope.wildcard",
    "auth.token_passthrough.enabled",
    "auth.step_up.unknown_capability",
    "auth.audience_missing",
    "transport.https_required",
    "transport.private_endpoint",
    "stdio.command_not_disclosed",
    "protocol_version.unknown",
    "protocol_version.older_without_reason",
    "sampling.budget.missing",
    "elicitation.url.sensitive_data",
    "resource.classification.missing",
    "resource_template.unconstrained",
    "icon.unsafe_scheme",
)
WARNINGS = (
    "write.adapter_dedup_undeclared",
    "write.dedup_window_missing",
    "auth.resource_missing",
    "auth.none_in_production",
    "auth.step_up_missing",
    "gate.missing_for_destructive",
    "transport.origin_missing",
    "transport.timeout_missing",
    "server_capabilities.unpinned",
    "resource.metadata_missing",
    "sampling.policy_missing",
    "elicitation.policy_missing",
    "elicitation.not_declinable",
    "task.policy_missing",
    "stdio.consent_missing",
    "stdio.sandbox_missing",
    "release.notes_missing",
    "protocol_version.migration_notes_missing",
    "description.suspicious",
)


def _each(kind: str) -> list[Any]:
    return [
        pytest.param(rule, changes, id=f"{rule}-{number}")
        for rule, cases in CASES.items()
        for number, changes in enumerate(getattr(cases, kind))
    ]


@pytest.mark.parametrize(("rule", "changes"), _each("fires"))
def test_a_rule_names_what_it_is_there_for(rule: str, changes: Changes) -> None:
    found = findings(changed(changes), rule)
    assert found, [f"{item.rule} {item.pointer}" for item in findings(changed(changes))]
    for item in found:
        assert item.message.endswith(".")
        assert item.remediation


@pytest.mark.parametrize(("rule", "changes"), _each("silent"))
def test_a_rule_leaves_its_near_misses_alone(rule: str, changes: Changes) -> None:
    assert findings(changed(changes), rule) == ()


def test_the_rules_and_severities_of_the_contract_are_all_there() -> None:
    severities = {rule.id: rule.severity for rule in all_rules()}
    assert {rule: severities.get(rule) for rule in BLOCKING} == dict.fromkeys(
        BLOCKING, Severity.BLOCK
    )
    assert {rule: severities.get(rule) for rule in WARNINGS} == dict.fromkeys(
        WARNINGS, Severity.WARN
    )


def test_no_rule_beyond_the_contract_blocks() -> None:
    blocking = {rule.id for rule in all_rules() if rule.severity is Severity.BLOCK}
    assert blocking == set(BLOCKING)


@pytest.mark.parametrize("rule", [*BLOCKING, *WARNINGS])
def test_every_rule_of_the_contract_has_three_examples_and_five_near_misses(rule: str) -> None:
    assert len(CASES[rule].fires) >= 3
    assert len(CASES[rule].silent) >= 5


def test_every_rule_says_why_and_how_to_fix_it() -> None:
    for rule in all_rules():
        assert rule.title
        assert not rule.title.endswith(".")
        assert rule.why.endswith(".")
        assert rule.fix.endswith(".")
