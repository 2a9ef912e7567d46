"""The rules beyond the contract: they warn or inform, and are as exact as the others."""

from typing import Any

import pytest

from tests.registry.readiness.manifests import (
    DELETE,
    READ,
    WRITE,
    Changes,
    changed,
    findings,
    named,
    schema_at,
    write_property,
)

pytestmark = pytest.mark.proves("B4")

TEXT = {"type": "string"}
TASK = {"mode": "task", "policy_refs": ["POLICY_TASKS"]}
LOCAL = {"kind": "stdio", "command": ["x"], "sandbox": {"filesystem": ["/"], "network": False}}
ASKING = {"elicitation_id": "a", "mode": "url", "url_template": "http://a.example.com/{state}"}
TEMPLATE = {"uri_template": "a://{x}", "parameter_constraints": {"x": {"pattern": "[a-z]+"}}}
OLD_KEYWORD = schema_at("payments.issue_refund", "input") + "/dependencies"

FIRES: tuple[tuple[str, Changes], ...] = (
    ("manifest.field_malformed", {"/version": "one"}),
    ("manifest.field_malformed", {"/environment": "prod"}),
    ("manifest.field_malformed", {"/transport/kind": "carrier_pigeon"}),
    ("manifest.field_malformed", {f"{WRITE}/retry_policy/max_attempts": 0}),
    ("manifest.field_malformed", {"/resources": {"uri": "x"}}),
    ("manifest.member_unknown", {"/colour": "blue"}),
    ("manifest.member_unknown", {f"{READ}/inputSchema": {}}),
    ("manifest.member_unknown", {"/auth/scopes": ["x"]}),
    ("capability.binding_missing", {f"{READ}/mcp_tool_name": DELETE}),
    ("capability.class_doubtful", named("payments.delete_transaction")),
    ("tool.shared_binding", {f"{READ}/mcp_tool_name": "payments_issue_refund"}),
    ("naming.raw_endpoint", named("payments.get_v1_transactions")),
    ("naming.raw_endpoint", named("payments.post_api_refund")),
    ("write.open_map", write_property("labels", {"additionalProperties": TEXT})),
    ("schema.keyword_without_effect", {OLD_KEYWORD: {"currency": ["amount_inr"]}}),
    ("schema.input_missing", {f"{READ}/input_schema_ref": DELETE}),
    (
        "schema.output_missing",
        {f"{READ}/output_schema_ref": DELETE, f"{READ}/decision_bindings": []},
    ),
    ("schema.two_sources", {f"{READ}/input_schema": {"type": "object"}}),
    ("auth.scope.broad", {"/auth/initial_scopes": ["admin"]}),
    ("auth.scope.broad", {"/auth/initial_scopes": ["https://graph.example.com/.default"]}),
    ("auth.initial_scope_writes", {"/auth/initial_scopes": ["payments.write"]}),
    ("transport.internal_name", {"/transport/endpoint_ref": "https://payments/mcp"}),
    ("transport.internal_name", {"/transport/endpoint_ref": "https://payments.corp/mcp"}),
    ("transport.endpoint_missing", {"/transport/endpoint_ref": DELETE}),
    ("transport.endpoint_missing", {"/transport/endpoint_ref": "endpoint://Not A Name"}),
    ("transport.endpoint_missing", {"/transport/endpoint_ref": "payments.example.com"}),
    ("transport.custom_undocumented", {"/transport": {"kind": "custom", "framing": "lines"}}),
    ("transport.contract_unpinned", {"/protocol": "openapi", "/protocol_version": "3.1.0"}),
    ("transport.session_binding_missing", {"/transport/session_binding": DELETE}),
    ("stdio.sandbox_open", {"/transport": LOCAL}),
    ("sampling.budget.partial", {"/sampling": {"budget": {"max_iterations": 1}}}),
    ("elicitation.url.not_https", {"/elicitation": [ASKING]}),
    ("elicitation.consent_missing", {"/elicitation": [ASKING]}),
    ("resource_template.pattern_unanchored", {"/resource_templates": [TEMPLATE]}),
    ("prompt.version_missing", {"/prompts": [{"name": "refund_help"}]}),
    ("task.ttl_missing", {f"{READ}/execution": TASK}),
    ("icon.doubtful", {f"{WRITE}/icons": [{"src": "refund.png"}]}),
    ("icon.doubtful", {f"{WRITE}/icons": [{"src": "data:image/svg+xml,<svg/>"}]}),
    ("release.errors_undeclared", {f"{READ}/errors": []}),
)

SILENT: tuple[tuple[str, Changes], ...] = (
    ("manifest.field_malformed", {f"{READ}/approval_mode": "readonly"}),
    ("manifest.field_malformed", {"/owner_role": DELETE}),
    ("manifest.field_malformed", {"/transport": "streamable_http"}),
    ("manifest.member_unknown", {f"{READ}/protocol_tool": "payments_lookup_transaction"}),
    ("manifest.member_unknown", {"/server_capabilities/completions": {}}),
    ("manifest.member_unknown", {f"{READ}/input_schema_ref": DELETE, f"{READ}/input_schema": {}}),
    ("capability.binding_missing", {"/protocol": "custom", f"{READ}/mcp_tool_name": DELETE}),
    ("capability.class_doubtful", named("payments.deleted_transactions")),
    ("naming.raw_endpoint", named("payments.get_transaction")),
    ("write.open_map", write_property("labels", {"type": "array", "items": TEXT})),
    ("schema.keyword_without_effect", write_property("dependencies", TEXT)),
    ("auth.scope.broad", {"/auth/initial_scopes": ["payments.admin_list.read"]}),
    ("auth.initial_scope_writes", {"/auth/initial_scopes": ["payments.written_off.read"]}),
    ("transport.internal_name", {"/transport/endpoint_ref": "https://corp.example.com/"}),
    ("transport.endpoint_missing", {"/transport": {"kind": "function"}}),
    ("transport.endpoint_missing", {"/transport/endpoint_ref": "endpoint://payments"}),
    ("transport.contract_unpinned", {}),
    ("manifest.member_unknown", {"/$schema": "urn:x", "/$comment": "x"}),
    ("icon.doubtful", {}),
)


@pytest.mark.parametrize(("rule", "changes"), FIRES)
def test_an_extra_rule_names_what_it_is_there_for(rule: str, changes: Any) -> None:
    assert findings(changed(changes), rule)


@pytest.mark.parametrize(("rule", "changes"), SILENT)
def test_an_extra_rule_leaves_its_near_misses_alone(rule: str, changes: Any) -> None:
    assert findings(changed(changes), rule) == ()


def test_a_misspelt_member_is_told_its_right_spelling() -> None:
    (found,) = findings(changed({f"{READ}/aproval_mode": "read_only"}), "manifest.member_unknown")
    assert found.pointer == f"{READ}/aproval_mode"
    assert "`approval_mode`" in found.message
