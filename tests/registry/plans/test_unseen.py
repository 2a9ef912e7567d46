"""Plans nobody showed the checker: each was predicted in full from the contract before it ran."""

from __future__ import annotations

import pytest

from registry.documents import schema_problems
from registry.plans import CODES, verify_plan
from tests.registry.plans.unseen.access import ACCESS, MODES
from tests.registry.plans.unseen.calls import ARGUMENTS, CONDITIONS, ORDER, SKILLS
from tests.registry.plans.unseen.world import Case, told

CASES = [*ACCESS, *MODES, *ARGUMENTS, *ORDER, *SKILLS, *CONDITIONS]


@pytest.mark.proves("C19", "B13", "B16", "C4")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_verdict_is_the_one_predicted(case: Case) -> None:
    answer = verify_plan(case.plan, case.pack, case.run).document()
    assert told(answer) == case.predicted, answer["findings"]
    assert schema_problems(answer, "plan-verdict") == ()


def test_the_predictions_cover_every_code() -> None:
    predicted = {item.partition(":")[2] for case in CASES for item in case.codes.split()}
    skills_code = {"skill.capability_not_permitted", "skill.precondition_failed"}
    assert set(CODES) - predicted == set()
    assert skills_code <= predicted
    assert len({case.title for case in CASES}) == len(CASES) >= 60
