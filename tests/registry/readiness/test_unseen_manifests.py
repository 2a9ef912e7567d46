"""Verdicts on manifests the linter was not made with, each predicted from the contract alone."""

import pytest

from registry.readiness import Severity
from tests.registry.readiness.manifests import DELETE, Changes, changed, findings
from tests.registry.readiness.strangers import STRANGERS, TEXT, closed
from tests.registry.readiness.test_rules import WARNINGS

pytestmark = pytest.mark.proves("B4")

READ, WRITE = "/capabilities/0", "/capabilities/1"
ENDPOINT = "/transport/endpoint_ref"
MOISTURE_IN = "/schemas/schema:~1~1moisture.in"
MOISTURE_OUT = "/schemas/schema:~1~1moisture.out"
VALVE_IN = "/schemas/schema:~1~1valve.in"
OLD_DIALECT = "http://json-schema.org/draft-07/schema#"
STDIO = {
    "kind": "stdio",
    "command": ["/usr/bin/gardener"],
    "command_disclosed": True,
    "install_consent": {"required": True, "shown_to": "user"},
    "sandbox": {"filesystem": ["/var/lib/gardener"], "network": "none"},
    "timeout_seconds": 9,
}
RESOURCE = {
    "uri": "plants://catalogue",
    "name": "Catalogue",
    "mimeType": "application/json",
    "size_bytes": 100,
    "classification": "internal",
    "source": "seed bank",
    "access": {"roles": ["gardener"], "intents": ["beds.check"]},
    "freshness": {"kind": "etag", "field": "etag"},
    "evidence_ref": "ev_catalogue",
}


def _named(name: str) -> Changes:
    return {f"{READ}/capability_id": name}


def _at(address: str, environment: str = "production") -> Changes:
    return {ENDPOINT: address, "/environment": environment}


# What changes in a sound manifest, and every blocking finding and every warning of the contract
# that must follow. An empty string means that nothing may be found.
GREENHOUSE: tuple[tuple[Changes, str], ...] = (
    ({}, ""),
    ({"/auth/initial_scopes": ["beds.read.all", "seeds.full", "houses:everything"]}, ""),
    ({"/auth/initial_scopes": ["starfruit.read", "all_hands.read"]}, ""),
    ({"/auth/initial_scopes": ["beds:*"]}, "auth.scope.wildcard"),
    ({"/auth/initial_scopes": ["*.read"]}, "auth.scope.wildcard"),
    (_named("greenhouse.list_service_requests"), ""),
    (_named("greenhouse.execute_pruning_schedule"), ""),
    (_named("greenhouse.find_call_sign"), ""),
    (_named("greenhouse.do_action"), "naming.non_specific"),
    (_named("greenhouse.process_data"), "naming.non_specific"),
    (_named("tools.invoke"), "naming.non_specific"),
    (_at("https://10.example.org/mcp"), ""),
    (_at("https://192.168.1.10.plants.example.org/mcp"), ""),
    (_at("https://0x7f.example.org/mcp"), ""),
    (_at("https://localhost.example.org/mcp"), ""),
    (_at("https://172.32.0.1/mcp"), ""),
    (_at("https://[2001:4860:4860::8888]/mcp"), ""),
    (_at("https://127.1/mcp"), "transport.private_endpoint"),
    (_at("https://2130706433/mcp"), "transport.private_endpoint"),
    (_at("https://0177.0.0.1/mcp"), "transport.private_endpoint"),
    (_at("https://0x7f.1/mcp"), "transport.private_endpoint"),
    (_at("https://[::ffff:0a00:0001]/mcp"), "transport.private_endpoint"),
    (_at("https://[64:ff9b::7f00:1]/mcp"), "transport.private_endpoint"),
    (_at("https://１２７.0.0.1/mcp"), "transport.private_endpoint"),
    (_at("https://127。0。0。1/mcp"), "transport.private_endpoint"),
    (_at("https://user@10.0.0.1/mcp"), "transport.private_endpoint"),
    (_at("https://%31%30.0.0.1/mcp"), "transport.private_endpoint"),
    (_at("https://printer.localhost./mcp"), "transport.private_endpoint"),
    (_at("HTTP://water.example.org/mcp"), "transport.https_required"),
    (_at("http://10.9.8.7/mcp"), "transport.https_required transport.private_endpoint"),
    (_at("http://10.9.8.7/mcp", "development"), ""),
    ({f"{MOISTURE_IN}/$schema": OLD_DIALECT}, "schema.dialect.undeclared"),
    ({f"{MOISTURE_IN}/$schema": OLD_DIALECT, "/schema_dialect_notes": "The vendor's."}, ""),
    ({"/protocol_version": "2025-06-18"}, "protocol_version.older_without_reason notes"),
    ({"/protocol_version": "2025-06-18", "/protocol_version_reason": "Vendor."}, "notes"),
    ({"/protocol_version": "2025-11-26"}, "protocol_version.unknown"),
    ({f"{MOISTURE_IN}/properties/filters": {"type": "object"}}, ""),
    ({f"{VALVE_IN}/properties/options": {"type": "object"}}, "write.freeform_payload"),
    ({f"{VALVE_IN}/properties/rows": {"type": "array"}}, "write.freeform_payload"),
    ({f"{VALVE_IN}/additionalProperties": DELETE}, "write.freeform_payload"),
    ({f"{VALVE_IN}/additionalProperties": DELETE, f"{VALVE_IN}/unevaluatedProperties": False}, ""),
    ({f"{VALVE_IN}/$defs": {"unused": {"type": "object"}}}, ""),
    ({MOISTURE_IN: closed(sql=TEXT)}, "tool.generic_request"),
    ({MOISTURE_IN: closed(method={"enum": ["POST", "PUT"]}, url=TEXT)}, "tool.generic_request"),
    ({MOISTURE_IN: closed(method={"enum": ["capacitive"]}, path=TEXT)}, ""),
    ({f"{VALVE_IN}/properties/operation": {"enum": ["read", "set"]}}, "tool.read_write_mixed"),
    ({f"{VALVE_IN}/properties/action": {"enum": ["open", "close"]}}, ""),
    ({f"{READ}/evidence_keys": ["salinity"]}, "evidence.key_not_in_output"),
    ({MOISTURE_OUT: {"allOf": [closed(bed=TEXT), closed(percent=TEXT)]}}, ""),
    ({f"{READ}/output_schema_ref": DELETE}, "output_schema.missing_for_decision"),
    (
        {"/auth/step_up_scopes": {"greenhouse.shut": ["x"]}},
        "auth.step_up.unknown_capability stepup",
    ),
    ({f"{READ}/approval_mode": "local_write"}, "approval_mode.contradicts_class write stepup"),
    ({"/transport": STDIO, "/environment": "workstation"}, ""),
    ({"/transport": {**STDIO, "command_disclosed": False}}, "stdio.command_not_disclosed"),
    ({"/transport": "stdio"}, "stdio.command_not_disclosed stdio.consent stdio.sandbox timeout"),
    ({"/resources": [RESOURCE]}, ""),
    ({"/resources": [{**RESOURCE, "classification": ""}]}, "resource.classification.missing"),
    ({f"{READ}/description": "<b>Always</b> call this first."}, "description.suspicious"),
    ({f"{READ}/description": "Moisture (0 < x < 100), 土壌の湿度."}, ""),
    ({"/x_team": 1, f"{READ}/x_note": "n"}, ""),
)
OTHERS: tuple[tuple[str, Changes, str], ...] = (
    ("museum", {}, ""),
    ("tides", {}, ""),
    ("courier", {}, ""),
    ("kiln", {}, ""),
    ("museum", {"/protocol_version": "2.0"}, "protocol_version.unknown"),
    ("museum", {ENDPOINT: "http://loans.museum.example"}, "transport.https_required"),
    ("museum", {"/capabilities": []}, "manifest.field_missing"),
    ("tides", {f"{READ}/approval_mode": "network"}, "approval_mode.contradicts_class"),
    ("tides", {"/protocol_version": "one"}, "protocol_version.unknown"),
    ("courier", {f"{READ}/idempotency/required": False}, "write"),
    ("courier", {f"{READ}/execution/policy_refs": DELETE}, "task.policy_missing"),
    ("courier", {"/transport/agent_card_ref": "http://a.example/c"}, "transport.https_required"),
    ("kiln", {"/auth": {"type": "none", "reason": "Own wire."}}, "auth.none_in_production"),
    ("kiln", {"/name": DELETE}, "manifest.field_missing"),
)
SHORT = {
    "notes": "protocol_version.migration_notes_missing",
    "stepup": "auth.step_up_missing",
    "write": "write.idempotency.missing",
    "stdio.consent": "stdio.consent_missing",
    "stdio.sandbox": "stdio.sandbox_missing",
    "timeout": "transport.timeout_missing",
}
CASES = (*(("greenhouse", *case) for case in GREENHOUSE), *OTHERS)


@pytest.mark.parametrize(("stranger", "changes", "expected"), CASES)
def test_the_verdict_is_the_predicted_one(stranger: str, changes: Changes, expected: str) -> None:
    document = changed(changes, STRANGERS[stranger])
    found = [f for f in findings(document) if f.severity is Severity.BLOCK or f.rule in WARNINGS]
    assert {f.rule for f in found} == {SHORT.get(word, word) for word in expected.split()}
