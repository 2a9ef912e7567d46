"""Whatever a manifest holds, linting it answers: it never raises, hangs or answers differently."""

import copy
from typing import Any

import pytest
from hypothesis import given

from contextos.core.json_pointer import split
from contextos.core.text import has_invisible
from registry.readiness import Severity, Verdict, all_rules, lint_document
from tests.registry.readiness.strategies import WILD_DOCUMENTS, mutated_manifests

pytestmark = pytest.mark.proves("B4")

RULES = {rule.id: rule.severity for rule in all_rules()}


def _check(document: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    report = lint_document(document)
    assert document == before
    assert lint_document(document) == report
    for finding in report.findings:
        assert RULES[finding.rule] is finding.severity
        split(finding.pointer)
        assert finding.message
        assert not has_invisible(finding.message)
    blocked = any(finding.severity is Severity.BLOCK for finding in report.findings)
    assert (report.verdict is Verdict.FAIL) == blocked


@given(mutated_manifests())
def test_a_mutated_manifest_is_always_answered(document: dict[str, Any]) -> None:
    _check(document)


@given(WILD_DOCUMENTS)
def test_a_document_that_is_hardly_a_manifest_is_always_answered(document: dict[str, Any]) -> None:
    _check(document)
