"""Each code of the plan check: plans that earn it, and near misses that do not."""

from __future__ import annotations

from typing import Any

import pytest

from registry.plans import CODES
from tests.registry.plans.rows import (
    arguments,
    capabilities,
    keys,
    modes,
    order,
    permissions,
    skills,
)
from tests.registry.plans.world import codes, judge

TABLES = {
    name: rows
    for module in (permissions, capabilities, arguments, keys, modes, order, skills)
    for name, rows in module.TABLES.items()
}
ROWS = [
    pytest.param(*row[1:], id=f"{table}: {row[0]}")
    for table, rows in TABLES.items()
    for row in rows
]


@pytest.mark.proves("C19", "B13", "B16", "C3")
@pytest.mark.parametrize(("document", "against", "run", "expected"), ROWS)
def test_a_plan_earns_exactly_these_codes(
    document: dict[str, Any], against: dict[str, Any] | None, run: Any, expected: list[str]
) -> None:
    verdict = judge(document, against, run)
    assert codes(verdict) == expected, verdict.findings


def test_every_code_is_earned_and_every_table_has_near_misses() -> None:
    earned = [code for rows in TABLES.values() for row in rows for code in dict.fromkeys(row[4])]
    assert {code: earned.count(code) for code in CODES if earned.count(code) < 4} == {}
    clean = {table: sum(not row[4] for row in rows) for table, rows in TABLES.items()}
    assert {table: count for table, count in clean.items() if count < 4} == {}
