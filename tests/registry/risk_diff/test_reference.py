"""The rules have ids, reasons, a page that lists them, and are quick."""

import time
from pathlib import Path
from typing import Any

import pytest

from registry.risk_diff import Verdict, all_rules, diff_manifests, render_reference
from tests.registry.risk_diff.manifests import REFUND_IN, Manifest, payments
from tests.registry.risk_diff.mutations import MUTATIONS

_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "risk-diff.md"
# Found only where several places change at once, or applied by the machinery around the rules.
_PROVED_ELSEWHERE = {"capability.renamed", "catalogue.order", "manifest.first_version"}
# Says nothing itself: what it finds inside is told by the rules for what is inside.
_PASSES_ON = {"schema.property_names"}


@pytest.mark.proves("B3")
def test_there_are_more_than_twenty_five_rules_each_with_its_reason() -> None:
    rules = all_rules()
    assert len(rules) >= 100
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.why.endswith(".") and rule.watches for rule in rules)


def test_reference_page_is_in_step_with_the_rules() -> None:
    assert _PAGE.read_text(encoding="utf-8") == render_reference(), (
        "Write the page anew: registry.risk_diff.render_reference()"
    )


def test_every_rule_is_proved_by_a_mutation() -> None:
    proved = {mutation.rule for mutation in MUTATIONS} | _PROVED_ELSEWHERE | _PASSES_ON
    unproved = {rule.id for rule in all_rules()} - proved
    assert unproved == set()


def _large(*, maximum: int, size: int = 200) -> Manifest:
    manifest = payments()
    refund, schema = manifest["capabilities"][1], manifest["schemas"][REFUND_IN]
    manifest["capabilities"] = []
    for number in range(size):
        name = f"schema://payments.refund_{number}.input.v1"
        document: dict[str, Any] = {**schema, "maxProperties": maximum}
        manifest["schemas"][name] = document
        manifest["capabilities"].append(
            {
                **refund,
                "capability_id": f"payments.refund_{number}",
                "input_schema_ref": name,
                "timeout_seconds": maximum,
            }
        )
    return manifest


def test_ten_times_the_capabilities_take_ten_times_the_work() -> None:
    few, many = _least_time(20), _least_time(200)
    assert many < 20 * few  # in proportion: the machine decides how long one takes


def _least_time(size: int) -> float:
    old, new = _large(maximum=10, size=size), _large(maximum=11, size=size)
    timings = []
    for _ in range(5):
        # Processor time: what a neighbour on the machine does is no business of this test.
        started = time.process_time()
        diff = diff_manifests(old, new)
        timings.append(time.process_time() - started)
    assert diff.verdict is Verdict.WIDENS
    assert len(diff.changes) == 2 * size
    return min(timings)
