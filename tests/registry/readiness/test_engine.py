"""A whole report: what the shipped examples get, in which order, and at which places."""

import copy
import sys
from types import FrameType
from typing import Any

import pytest

from contextos.core.strict_json import dumps
from registry.readiness import Severity, Verdict, lint_bytes, lint_document
from registry.readiness.engine import MAX_FINDINGS_PER_RULE
from tests.registry.readiness.manifests import READ, changed, example, findings, write_input

pytestmark = pytest.mark.proves("B4")

COMPLETED = ("payments", "payments_v2", "orders", "knowledge")
# What the adapter guide prints; the example file completes it.
ADDED_BY_US = ("version", "environment", "rollout_notes", "rollback_notes", "schemas")
ADDED_TO_CAPABILITIES = ("description", "domain", "intents", "timeout_seconds", "errors")
ADDED_TO_REFUND = ("policy_refs", "retry_policy", "icons", "input_schema_ref", "output_schema_ref")


def guide_example() -> dict[str, Any]:
    """The adapter guide's example as printed there: without schemas and our own members."""
    document = copy.deepcopy(example("payments"))
    for name in ADDED_BY_US:
        del document[name]
    for name in ("timeout_seconds", "session_binding"):
        del document["transport"][name]
    for item in document["capabilities"]:
        for name in ADDED_TO_CAPABILITIES:
            del item[name]
    refund = document["capabilities"][1]
    for name in ADDED_TO_REFUND:
        del refund[name]
    del refund["idempotency"]["adapter_dedup"]
    return document


@pytest.mark.parametrize("name", COMPLETED)
def test_a_shipped_example_has_no_finding_at_all(name: str) -> None:
    assert findings(example(name)) == ()


def test_the_guides_example_fails_as_printed_for_its_missing_schemas() -> None:
    report = lint_document(guide_example())
    assert report.verdict is Verdict.FAIL
    assert [(item.rule, item.pointer) for item in report.of(Severity.BLOCK)] == [
        ("schema.unresolved_ref", "/capabilities/0/input_schema_ref"),
        ("schema.unresolved_ref", "/capabilities/0/output_schema_ref"),
        ("write.freeform_payload", "/capabilities/1/input_schema_ref"),
        ("output_schema.missing_for_decision", "/capabilities/1/output_schema_ref"),
    ]
    assert {item.rule for item in report.of(Severity.WARN)} == {
        "transport.timeout_missing",
        "write.adapter_dedup_undeclared",
        "release.notes_missing",
    }


def test_the_broken_example_shows_most_of_what_can_be_wrong() -> None:
    report = lint_document(example("broken"))
    assert len({item.rule for item in report.of(Severity.BLOCK)}) >= 24
    assert len({item.rule for item in report.of(Severity.WARN)}) >= 10


def test_a_short_draft_is_normalised_and_told_all_that_is_missing() -> None:
    draft = {
        "protocol": "mcp",
        "protocol_version": "2025-11-25",
        "transport": "streamable_http",
        "capabilities": ["tools", "resources", "prompts"],
    }
    blocked = {item.pointer for item in findings(draft, "manifest.field_missing")}
    assert blocked == {"/adapter_id", "/name", "/owner_role", "/auth", "/capabilities"}
    assert findings(draft, "server_capabilities.unpinned") == ()


def test_findings_read_from_top_to_bottom() -> None:
    document = {
        "capabilities": [{"capability_id": "a.b"}],
        "adapter_id": "",
        "auth": {"type": "none"},
    }
    places = [item.pointer.split("/")[1] for item in findings(document)]
    order = {"capabilities": 0, "adapter_id": 1, "auth": 2}
    ranks = [order.get(place, 3) for place in places]
    assert ranks == sorted(ranks)


def test_findings_about_an_inline_schema_point_into_it() -> None:
    document = changed({})
    item = document["capabilities"][0]
    del item["input_schema_ref"]
    item["input_schema"] = {"type": "object", "properties": {"a": {"type": "money"}}}
    (found,) = findings(document, "schema.invalid")
    assert found.pointer == f"{READ}/input_schema/properties/a/type"


def test_a_schema_shared_by_two_writes_is_reported_for_each() -> None:
    document = changed(write_input({"type": "object"}))
    twin = copy.deepcopy(document["capabilities"][1])
    twin["capability_id"] = "payments.issue_credit"
    document["capabilities"].append(twin)
    assert len(findings(document, "write.freeform_payload")) == 2


def test_hidden_and_hostile_characters_are_spelt_out_in_messages() -> None:
    name = "<script>alert(1)</script>\u202e\u200b"
    for item in findings(changed({f"{READ}/approval_mode": name, f"{READ}/capability_id": name})):
        assert "\u202e" not in item.message
        assert "\u200b" not in item.message
    (mode,) = findings(changed({f"{READ}/approval_mode": name}), "approval_mode.not_in_taxonomy")
    assert "⟨U+202E⟩" in mode.message


def test_a_very_long_value_does_not_make_a_very_long_message() -> None:
    (found,) = findings(
        changed({f"{READ}/approval_mode": "x" * 100_000}), "approval_mode.not_in_taxonomy"
    )
    assert len(found.message) < 300


def test_a_flood_of_like_findings_is_cut_off() -> None:
    document = changed({f"/unknown_{number}": 1 for number in range(MAX_FINDINGS_PER_RULE + 50)})
    assert len(findings(document, "manifest.member_unknown")) == MAX_FINDINGS_PER_RULE


def test_the_report_has_the_shape_of_the_contract() -> None:
    report = lint_bytes(dumps(example("broken")).encode()).as_dict()
    assert set(report) == {"verdict", "findings"}
    assert report["verdict"] == "fail"
    assert isinstance(report["findings"], list)
    for item in report["findings"]:
        assert set(item) == {"rule", "severity", "pointer", "message", "remediation"}
        assert item["severity"] in ("block", "warn", "info")


def test_schemas_with_many_alternatives_are_read_in_bounded_time() -> None:
    branch = {"anyOf": [{"properties": {f"a{n}": {"type": "string"}}} for n in range(10)]}
    schema: dict[str, Any] = {"type": "object", "allOf": [branch] * 12}
    for _ in range(6):
        schema = {"type": "object", "anyOf": [schema, {"properties": {"x": schema}}]}
    assert findings(changed(write_input(schema)), "write.freeform_payload")


def test_schemas_that_refer_to_each_other_in_circles_are_read_to_the_end() -> None:
    schemas = {
        "schema://payments.issue_refund.input.v1": {"$ref": "schema://b"},
        "schema://b": {"allOf": [{"$ref": "schema://c"}], "properties": {"x": {"$ref": "#"}}},
        "schema://c": {"anyOf": [{"$ref": "schema://b"}, {"$ref": "#"}]},
    }
    assert findings(changed({f"/schemas/{_escaped(k)}": v for k, v in schemas.items()}))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _manifest_with(count: int) -> dict[str, Any]:
    document = changed({"/capabilities": [], "/schemas": {}, "/auth/step_up_scopes": {}})
    original = example("payments")
    for number in range(count):
        item = copy.deepcopy(original["capabilities"][number % 2])
        old = item["capability_id"]
        item["capability_id"] = f"{old}_of_branch{number}"
        for side in ("input", "output"):
            uri = f"schema://{item['capability_id']}.{side}.v1"
            document["schemas"][uri] = original["schemas"][f"schema://{old}.{side}.v1"]
            item[f"{side}_schema_ref"] = uri
        document["auth"]["step_up_scopes"][item["capability_id"]] = ["payments.refund.write"]
        document["capabilities"].append(item)
    return document


def _calls_to_lint(document: dict[str, Any]) -> int:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        lint_document(document)
    finally:
        sys.setprofile(None)
    return calls


def test_twice_the_capabilities_cost_twice_the_work() -> None:
    lint_document(_manifest_with(2))  # compiles what is compiled once
    small, large = _calls_to_lint(_manifest_with(30)), _calls_to_lint(_manifest_with(120))
    assert large < 4.4 * small
