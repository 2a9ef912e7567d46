"""Evidence and dependencies: plans that earn a code, and near misses."""

from __future__ import annotations

from typing import Any

from tests.registry.plans.world import (
    LOOKUP,
    Row,
    lookup,
    plan,
    refund,
    step,
    with_capability,
)


def _wants(*sources: str, depends_on: list[str] | None = None) -> dict[str, Any]:
    return refund("s2", requires_evidence=list(sources), depends_on=depends_on or [])


EVIDENCE_ROWS: list[Row] = [
    ("unknown step", plan(lookup("s1"), _wants("s9")), None, None, ["evidence.not_available"]),
    ("itself", plan(lookup("s1"), _wants("s2")), None, None, ["evidence.not_available"]),
    ("a later step", plan(_wants("s3"), lookup("s3")), None, None, ["evidence.not_available"]),
    (
        "an earlier step that waits for this one",
        plan(lookup("s1", depends_on=["s2"]), _wants("s1")),
        None,
        None,
        ["evidence.not_available"],
    ),
    (
        "a step that yields none",
        plan(step("s1", "extract.entities"), _wants("s1")),
        None,
        None,
        ["evidence.not_available"],
    ),
    (
        "the key instead of the step",
        plan(lookup("s1"), _wants("status")),
        None,
        None,
        ["evidence.not_available"],
    ),
    ("an earlier step", plan(lookup("s1"), _wants("s1")), None, None, []),
    ("a step it depends on", plan(lookup("s1"), _wants("s1", depends_on=["s1"])), None, None, []),
    (
        "listed later, but depended on",
        plan(_wants("s3", depends_on=["s3"]), lookup("s3")),
        None,
        None,
        [],
    ),
    (
        "listed later, depended on through another",
        plan(
            _wants("s4", depends_on=["s3"]),
            lookup("s3", depends_on=["s4"]),
            lookup("s4"),
        ),
        None,
        None,
        [],
    ),
    (
        "evidence keys not stated",
        plan(lookup("s1"), _wants("s1")),
        with_capability(LOOKUP, evidence_keys=None),
        None,
        [],
    ),
]

CYCLE: list[Row] = [
    ("itself", plan(lookup(depends_on=["s1"])), None, None, ["plan.dependency_cycle"]),
    (
        "two",
        plan(lookup("s1", depends_on=["s2"]), lookup("s2", depends_on=["s1"])),
        None,
        None,
        ["plan.dependency_cycle"] * 2,
    ),
    (
        "three, and one that hangs on them",
        plan(
            lookup("s1", depends_on=["s3"]),
            lookup("s2", depends_on=["s1"]),
            lookup("s3", depends_on=["s2"]),
            lookup("s4", depends_on=["s3"]),
        ),
        None,
        None,
        ["plan.dependency_cycle"] * 3,
    ),
    ("no such step", plan(lookup(depends_on=["s7"])), None, None, ["plan.dependency_cycle"]),
    (
        "two cycles with a step between",
        plan(
            lookup("a", depends_on=["a"]),
            lookup("b", depends_on=["a"]),
            lookup("c", depends_on=["b", "c"]),
        ),
        None,
        None,
        ["plan.dependency_cycle"] * 2,
    ),
    ("a chain", plan(lookup("s1"), lookup("s2", depends_on=["s1"])), None, None, []),
    (
        "a chain listed backwards",
        plan(lookup("s1", depends_on=["s2"]), lookup("s2")),
        None,
        None,
        [],
    ),
    (
        "a diamond",
        plan(
            lookup("a"),
            lookup("b", depends_on=["a"]),
            lookup("c", depends_on=["a"]),
            lookup("d", depends_on=["b", "c"]),
        ),
        None,
        None,
        [],
    ),
    ("named twice", plan(lookup("a"), lookup("b", depends_on=["a", "a"])), None, None, []),
]

TABLES: dict[str, list[Row]] = {
    "evidence": EVIDENCE_ROWS,
    "cycle": CYCLE,
}
