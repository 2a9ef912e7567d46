"""Nothing is wider than the tokens sent, whoever opened the run with wider ones (C6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories import make_agent_token, make_user_token
from tests.gateway.plan_world import PlanWorld, lookup, note
from tests.recorded_worlds import ready

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C6")]
RUNS, CALLS, VERIFY = "/api/v1/runs", "/api/v1/tool-calls", "/api/v1/plans/verify"


@pytest.fixture
def world() -> PlanWorld:
    return ready(PlanWorld)


def _asked(run: dict[str, Any], step: dict[str, Any]) -> dict[str, Any]:
    return {"run_id": run["run_id"], **{name: step[name] for name in step if name != "step_id"}}


def _person(world: PlanWorld, **terms: Any) -> str:
    return make_user_token(world.house.user("service"), world.house.tenant, **terms).token


def test_a_low_token_can_not_use_the_height_of_a_run_opened_with_another(world: PlanWorld) -> None:
    run, low = world.open_run(), make_agent_token(world.agent, max_mode="read_only").token
    refused = world.post(CALLS, _asked(run, note()), token=low)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "auth.scope")
    assert "read_only" in refused.json()["error"]["message"]
    assert world.post(CALLS, _asked(run, lookup()), token=low).status_code == 200
    assert world.post(CALLS, _asked(run, note())).status_code == 202


def test_the_critic_knows_the_token_of_the_moment(world: PlanWorld) -> None:
    run, low = world.open_run(), make_agent_token(world.agent, max_mode="read_only").token
    body = {"run_id": run["run_id"], "plan": {"steps": [lookup(), note()]}}
    answer = world.post(VERIFY, body, token=low).json()
    assert [(item["step_id"], item["code"]) for item in answer["findings"]] == [
        ("n", "mode.above_safety_mode")
    ]


def test_a_person_who_delegates_little_is_a_limit_as_well(world: PlanWorld) -> None:
    low = _person(world, max_mode="read_only")
    asked = world.run_body(safety_mode="local_write")
    assert world.post(RUNS, asked, delegation=low).json()["code"] == "run.mode_above_token"
    run = world.post(RUNS, world.run_body(), delegation=low).json()
    assert run["safety_mode"] == "read_only"


def test_a_person_who_delegates_some_calls_delegates_no_others(world: PlanWorld) -> None:
    some = _person(world, scopes=["orders.lookup"])
    run = world.post(RUNS, world.run_body(), delegation=some).json()
    assert world.post(CALLS, _asked(run, lookup()), delegation=some).status_code == 200
    refused = world.post(CALLS, _asked(run, note()), delegation=some)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "auth.scope")
