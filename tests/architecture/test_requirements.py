"""MISSION ids and tests are bound both ways."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, files_of_tests, named, parsed
from tests.requirements import BY_ID, REQUIREMENTS

MISSION = ROOT.parent / "shared" / "MISSION.md"


def _claims_in(path: Path) -> list[tuple[str, str]]:
    claims = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.proves"):
            for argument in node.args:
                identity = argument.value if isinstance(argument, ast.Constant) else "not a literal"
                claims.append((str(identity), f"{named(path)}:{node.lineno}"))
    return claims


def _all_claims() -> dict[str, list[str]]:
    claims: dict[str, list[str]] = defaultdict(list)
    for path in files_of_tests():
        for identity, place in _claims_in(path):
            claims[identity].append(place)
    return claims


def test_every_claim_names_a_known_duty() -> None:
    unknown = {
        identity: places for identity, places in _all_claims().items() if identity not in BY_ID
    }
    assert unknown == {}


def test_every_built_duty_has_a_test_that_claims_it() -> None:
    claims = _all_claims()
    unproved = [r.id for r in REQUIREMENTS if r.state != "open" and r.id not in claims]
    assert unproved == []


def test_a_claimed_duty_is_no_longer_listed_as_open() -> None:
    claims = _all_claims()
    stale = {r.id: claims[r.id] for r in REQUIREMENTS if r.state == "open" and r.id in claims}
    assert stale == {}


def test_a_partial_duty_says_what_is_missing_and_no_other_does() -> None:
    assert [r.id for r in REQUIREMENTS if (r.state == "partial") != bool(r.missing)] == []


def test_ids_are_unique_and_are_those_of_the_mission() -> None:
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert len(ids) == len(set(ids))
    if not MISSION.exists():
        pytest.skip("MISSION.md is not beside this checkout")
    mission = re.findall(r"^\| ([A-G]\d+) \|", MISSION.read_text(encoding="utf-8"), flags=re.M)
    assert sorted(ids) == sorted(mission)
