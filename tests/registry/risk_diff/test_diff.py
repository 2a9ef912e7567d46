"""The diff as reviewers meet it: what is said, in which order, and that nothing is left out."""

from typing import Any

import pytest

from contextos.core import strict_json
from registry.manifest import normalise
from registry.risk_diff import Change, Direction, RiskDiff, Verdict, diff_manifests
from tests.registry.risk_diff.manifests import (
    LOOKUP_IN,
    MONEY,
    REFUND_IN,
    REFUND_OUT,
    Manifest,
    payments,
)

WIDENS, NARROWS = Direction.WIDENS, Direction.NARROWS
NEUTRAL, UNKNOWN = Direction.NEUTRAL, Direction.UNKNOWN


def _diff(old: Manifest, new: Manifest) -> RiskDiff:
    return diff_manifests(normalise(old), normalise(new))


def _said(diff: RiskDiff, rule: str) -> list[tuple[Direction, str]]:
    return [(change.direction, change.message) for change in diff.changes if change.rule == rule]


def _only(diff: RiskDiff) -> Change:
    assert len(diff.changes) == 1, diff.as_dict()
    return diff.changes[0]


@pytest.mark.proves("B3")
def test_same_manifest_has_no_changes() -> None:
    diff = _diff(payments(), payments())
    assert diff.changes == ()
    assert diff.verdict is Verdict.UNCHANGED


def test_first_version_widens_in_everything() -> None:
    diff = diff_manifests(None, normalise(payments()))
    assert {change.direction for change in diff.changes} == {WIDENS}
    assert [message for _, message in _said(diff, "capability.added")] == [
        "payments.lookup_transaction (read_only) is a new capability.",
        "payments.issue_refund (delegated) is a new capability.",
    ]
    spoken_of = {change.pointer.split("/")[1] for change in diff.changes}
    empty = {name for name, value in normalise(payments()).items() if value == []}
    assert spoken_of == set(normalise(payments())) - empty


def test_raised_maximum_reads_at_a_glance() -> None:
    new = payments()
    new["capabilities"][1]["arg_constraints"]["amount_inr"]["max"] = 100000
    change = _only(_diff(payments(), new))
    assert change.message == "The largest amount_inr a call may carry rises from 50000 to 100000."
    assert change.subject == "payments.issue_refund"
    assert change.pointer == "/capabilities/1/arg_constraints/amount_inr/max"
    assert (change.before, change.after) == (50000, 100000)


def test_change_behind_a_schema_reference_is_told_for_each_capability_that_uses_it() -> None:
    old, new = payments(), payments()
    for manifest in (old, new):
        lookup = manifest["schemas"][LOOKUP_IN]["properties"]
        lookup["at_most"] = {"$ref": MONEY}
    new["schemas"][MONEY]["maximum"] = 90000
    diff = _diff(old, new)
    assert {(change.subject, change.message) for change in diff.changes} == {
        (
            "payments.lookup_transaction",
            "The largest at_most a call may carry rises from 50000 to 90000.",
        ),
        (
            "payments.issue_refund",
            "The largest amount_inr a call may carry rises from 50000 to 90000.",
        ),
    }


def test_schema_under_a_new_name_is_compared_line_by_line() -> None:
    new = payments()
    document = new["schemas"].pop(REFUND_IN)
    document["properties"]["currency"]["enum"].append("USD")
    new["schemas"]["schema://payments.issue_refund.input.v2"] = document
    new["capabilities"][1]["input_schema_ref"] = "schema://payments.issue_refund.input.v2"
    diff = _diff(payments(), new)
    assert [(change.rule, change.direction) for change in diff.changes] == [
        ("schema.choices", WIDENS),
        ("capability.input_schema", NEUTRAL),
    ]
    assert diff.changes[0].message == "currency may now also be USD."


def test_schema_that_nobody_refers_to_is_still_shown() -> None:
    new = payments()
    new["schemas"]["schema://spare.v1"] = {"type": "object"}
    new["schemas"][REFUND_IN]["$defs"] = {"spare": {"type": "string"}}
    pointers = [change.pointer for change in _diff(payments(), new).changes]
    assert "/schemas/schema:~1~1spare.v1" in pointers
    assert any(pointer.endswith("$defs") for pointer in pointers)


def test_schema_moved_into_a_definition_accepts_the_same() -> None:
    old, new = payments(), payments()
    currency = new["schemas"][REFUND_IN]["properties"]["currency"]
    new["schemas"][REFUND_IN]["properties"]["currency"] = {"$ref": "#/$defs/currency"}
    new["schemas"][REFUND_IN]["$defs"] = {"currency": {**currency, "enum": ["INR", "USD"]}}
    assert (WIDENS, "currency may now also be USD.") in _said(_diff(old, new), "schema.choices")


def test_tool_under_another_capability_name_is_called_a_rename() -> None:
    new = payments()
    new["capabilities"][1]["capability_id"] = "payments.send_money"
    diff = _diff(payments(), new)
    [(direction, message)] = _said(diff, "capability.renamed")
    assert direction is WIDENS
    assert message.startswith("payments.send_money is a new capability for the tool that was")
    assert message.endswith("known as payments.issue_refund.")
    assert _said(diff, "capability.removed") == [
        (NARROWS, "payments.issue_refund is no longer offered.")
    ]


def test_removed_capability_takes_its_schemas_along() -> None:
    new = payments()
    new["capabilities"].pop(1)
    for name in (REFUND_IN, REFUND_OUT, MONEY):
        del new["schemas"][name]
    del new["auth"]["step_up_scopes"]["payments.issue_refund"]
    rules = {change.rule: change.direction for change in _diff(payments(), new).changes}
    assert rules["capability.removed"] is NARROWS
    assert "manifest.unrecognised" not in rules


def test_other_tool_behind_the_same_name_widens() -> None:
    new = payments()
    new["capabilities"][0]["mcp_tool_name"] = "payments_issue_refund"
    change = _only(_diff(payments(), new))
    assert (change.rule, change.direction) == ("capability.binding", WIDENS)


@pytest.mark.proves("B9")
def test_scope_moved_from_step_up_to_every_call_widens_twice() -> None:
    new = payments()
    new["auth"]["initial_scopes"].append("payments.refund.write")
    new["auth"]["step_up_scopes"]["payments.issue_refund"].remove("payments.refund.write")
    diff = _diff(payments(), new)
    assert {(change.rule, change.direction) for change in diff.changes} == {
        ("auth.initial_scopes", WIDENS),
        ("auth.step_up_scopes", WIDENS),
    }


@pytest.mark.proves("B9")
def test_scope_moved_from_every_call_to_step_up_narrows() -> None:
    old = payments()
    old["auth"]["initial_scopes"].append("payments.refund.write")
    old["auth"]["step_up_scopes"]["payments.issue_refund"].remove("payments.refund.write")
    assert _diff(old, payments()).verdict is Verdict.NARROWS


def test_invisible_characters_in_a_description_are_spelt_out() -> None:
    new = payments()
    new["capabilities"][0]["description"] = "Look up\u200b one \u202etransaction."
    message = _only(_diff(payments(), new)).message
    assert "⟨U+200B⟩" in message
    assert "⟨U+202E⟩" in message
    assert "cannot be seen" in message
    assert "\u202e" not in message


def test_https_instead_of_http_narrows() -> None:
    old = payments()
    old["transport"]["endpoint_ref"] = "http://payments.example.com/mcp"
    assert _diff(old, payments()).verdict is Verdict.NARROWS


def test_sampling_switched_on_is_one_widening() -> None:
    old = payments()
    del old["sampling"]
    change = _only(_diff(old, payments()))
    assert (change.rule, change.direction) == ("sampling.declared", WIDENS)


def test_capabilities_in_another_order_are_the_same_capabilities() -> None:
    new = payments()
    new["capabilities"].reverse()
    new["capabilities"][0]["errors"].reverse()
    diff = _diff(payments(), new)
    assert {(change.rule, change.direction) for change in diff.changes} == {
        ("catalogue.order", NEUTRAL),
        ("errors.declared", NEUTRAL),
    }
    assert diff.verdict is Verdict.NEUTRAL


def test_widenings_and_unknowns_come_first() -> None:
    new = payments()
    new["version"] = "1.1.0"
    new["capabilities"][1]["timeout_seconds"] = 5
    new["capabilities"][1]["description"] = "Other."
    new["auth"]["initial_scopes"].append("payments.admin")
    directions = [change.direction for change in _diff(payments(), new).changes]
    assert directions == [WIDENS, UNKNOWN, NARROWS, NEUTRAL]


def test_diff_is_ready_for_json() -> None:
    new = payments()
    del new["capabilities"][1]["requires_approval_gate"]
    told: Any = strict_json.loads(strict_json.dumps(_diff(payments(), new).as_dict()))
    assert told["verdict"] == "widens"
    assert told["counts"] == {"widens": 1, "unknown": 0, "narrows": 0, "neutral": 0}
    assert set(told["changes"][0]) == {
        "rule",
        "direction",
        "pointer",
        "subject",
        "before",
        "after",
        "message",
        "why",
    }


def test_repeated_capability_ids_are_told_apart() -> None:
    old, new = payments(), payments()
    new["capabilities"].append({**new["capabilities"][0], "approval_mode": "destructive"})
    assert _diff(old, new).verdict is Verdict.WIDENS
