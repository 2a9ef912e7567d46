"""What is remembered of a caller and its run leads to a yes only while it still holds (A5, C1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import DecisionRow
from audit.payloads import find_payload
from contextos.core.clock import utcnow
from contextos.identity.models import IssuedToken
from contextos.identity.services import revoke_token, set_agent_active, set_tenant_active
from contextos.identity.services.agents import update_agent
from gateway.erasable import _without_context
from gateway.models import Breaker, Run, ToolCall
from gateway.remembering import _Memory, _memory
from gateway.states import BreakerState
from registry import compiled
from registry.services.generation import bump_generation
from registry.services.kill_switches import throw_switch
from tests.factories import SYSTEM, make_agent, make_agent_token
from tests.gateway.order_functions import LEDGER
from tests.gateway.world import CALLS, GatewayWorld
from tests.recorded_worlds import ready
from tests.registry import documents
from tests.registry.manifests import orders
from tests.registry.walks import policy_walk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("function_runner")]


@pytest.fixture
def world() -> GatewayWorld:
    LEDGER.unlink(missing_ok=True)
    return ready(GatewayWorld)


def _body(run: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "run_id": run["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": "ord_0001"},
        **changes,
    }


def _warm(world: GatewayWorld, **changes: Any) -> dict[str, Any]:
    """A run in which calls are answered from memory, where there is one."""
    run = world.open_run(**changes)
    for _ in range(3):
        assert world.post(CALLS, _body(run)).status_code == 200
    return run


def _statements(world: GatewayWorld, run: dict[str, Any], **changes: Any) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert world.post(CALLS, _body(run, **changes)).status_code == 200
    return [query["sql"] for query in captured]


def test_the_third_read_of_a_run_asks_nothing_before_it_claims(world: GatewayWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("an embedded database is asked every time")
    run = world.open_run()
    counts = [len(_statements(world, run)) for _ in range(4)]
    assert counts[0] >= 4  # and what the process did not know yet
    assert counts[1:] == [3, 2, 2]
    assert all(sql.startswith("WITH") for sql in _statements(world, run))


def test_a_read_from_memory_says_and_records_what_a_first_one_does(world: GatewayWorld) -> None:
    first = world.post(CALLS, _body(world.open_run())).json()
    remembered = world.post(CALLS, _body(_warm(world))).json()
    assert _shape(remembered) == _shape(first)
    first_row, row = (
        DecisionRow.objects.filter(decision_id=answer["decision_id"]).order_by("seq").first()
        for answer in (first, remembered)
    )
    assert row is not None
    assert first_row is not None
    same = ("status", "outcome", "capability_id", "mode_effective", "adapter_id", "agent_id")
    assert [getattr(row, name) for name in same] == [getattr(first_row, name) for name in same]
    told = [
        find_payload(tenant_id=world.tenant_id, decision_id=answer["decision_id"], kind="inputs")
        for answer in (first, remembered)
    ]
    first_inputs, inputs = (dict(document or {}) for document in told)
    assert first_inputs.keys() == inputs.keys() != set()
    assert first_inputs["agent"] == inputs["agent"]
    assert Run.objects.get(pk=remembered["run_id"]).used_calls == 4


def _shape(answer: Any) -> Any:
    """The answer without what differs from call to call."""
    if isinstance(answer, dict):
        own = ("tool_call_id", "run_id", "trace_id", "policy_decision_id", "decision_id")
        timed = ("latency_ms", "evidence_refs")
        return {k: _shape(v) for k, v in answer.items() if k not in (*own, *timed)}
    return answer


# --- whatever changes bites on the next call ------------------------------------------------------
Change = Callable[[GatewayWorld, dict[str, Any]], Any]


def _revoke(world: GatewayWorld, run: dict[str, Any]) -> None:
    token = IssuedToken.objects.get(subject=world.agent.agent_id)
    revoke_token(token_id=token.pk, actor=SYSTEM, reason="lost")


def _change_agent(world: GatewayWorld, **changes: Any) -> None:
    agent = world.agent
    told: dict[str, Any] = {
        "name": agent.name,
        "role": agent.role,
        "owner": agent.owner,
        "max_mode": agent.max_mode,
        "agent_urn": agent.agent_urn,
        "workload_identity": agent.workload_identity,
    }
    update_agent(agent_pk=agent.pk, actor=SYSTEM, **{**told, **changes})


def _deny(world: GatewayWorld, run: dict[str, Any]) -> None:
    rule = {
        "rule_id": "closed",
        "description": "The shop is closed.",
        "applies_to": {"capability": "orders.lookup"},
        "if": True,
        "then": {"allow": False},
    }
    document = documents.bundle(version="1.1.0")
    refusing = {**document, "rules": [*document["rules"], rule]}
    policy_walk(world.house).published(refusing)


def _kill(world: GatewayWorld, run: dict[str, Any]) -> None:
    throw_switch(
        tenant_id=world.tenant_id,
        scope="adapter",
        target_id="adp_orders",
        reason="Under attack.",
        actor=world.house.actor("operator"),
    )


def _break(world: GatewayWorld, run: dict[str, Any]) -> None:
    now = utcnow()
    Breaker.objects.create(
        tenant_id=world.tenant_id,
        adapter_id="adp_orders",
        state=BreakerState.OPEN,
        retry_at=now + timedelta(minutes=1),
        opened_at=now,
        window_started_at=now,
        changed_at=now,
    )


CHANGES: dict[str, tuple[Change, int, str]] = {
    "token revoked": (_revoke, 401, "auth.revoked"),
    "agent switched off": (
        lambda world, _: set_agent_active(agent_pk=world.agent.pk, active=False, actor=SYSTEM),
        401,
        "auth.subject_inactive",
    ),
    "tenant switched off": (
        lambda world, _: set_tenant_active(tenant_id=world.tenant_id, active=False, actor=SYSTEM),
        401,
        "auth.subject_inactive",
    ),
    "policy published": (_deny, 403, "policy.denied_by_rule"),
    "kill switch": (_kill, 403, "pin.revoked"),
    "breaker opened": (_break, 503, "circuit.open"),
}


@pytest.mark.proves("A5", "B19", "C12")
@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_bites_on_the_next_call(world: GatewayWorld, name: str) -> None:
    change, status, code = CHANGES[name]
    run = _warm(world)
    change(world, run)
    calls = ToolCall.objects.count()
    answer = world.post(CALLS, _body(run))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert ToolCall.objects.count() == calls


@pytest.mark.proves("A5")
def test_a_renamed_agent_is_recorded_by_its_new_name(world: GatewayWorld) -> None:
    run = _warm(world)
    _change_agent(world, name="Renamed")
    answer = world.post(CALLS, _body(run)).json()
    assert answer["status"] == "ok"
    chain = world.get(f"{CALLS}/{answer['tool_call_id']}").json()["call"]["principal_chain"]
    assert chain[-1]["display"] == "Renamed"


@pytest.mark.proves("C10")
def test_a_remembered_run_ends_with_its_calls_and_with_its_time(world: GatewayWorld) -> None:
    run = _warm(world, run_budget={"max_calls": 3})
    spent = world.post(CALLS, _body(run))
    assert (spent.status_code, spent.json()["error"]["code"]) == (429, "budget.exhausted")
    assert "calls are used up" in spent.json()["error"]["message"]
    assert Run.objects.get(pk=run["run_id"]).used_calls == 3
    short = _warm(world, run_budget={"max_wall_ms": 60_000})
    with time_machine.travel(utcnow() + timedelta(seconds=61)):
        late = world.post(CALLS, _body(short))
    assert (late.status_code, late.json()["error"]["code"]) == (429, "budget.exhausted")


@pytest.mark.proves("C12")
def test_a_run_that_begins_to_fail_is_watched_again(world: GatewayWorld) -> None:
    run = _warm(world)
    answers = [world.post(CALLS, _body(run, args={"order_id": "ord_0404"})) for _ in range(6)]
    codes = [answer.json()["error"]["code"] for answer in answers]
    assert codes[0] == "ORDER_NOT_FOUND"
    assert codes[-1] == "loop.detected"


@pytest.mark.proves("E6")
@pytest.mark.parametrize("before", [1, 2, 3, 4])
def test_an_erased_context_is_not_recorded_again(world: GatewayWorld, before: int) -> None:
    run = world.open_run(context={"customer": "cust_canary"})
    for _ in range(before):
        world.post(CALLS, _body(run))
    _without_context(Run.objects.filter(pk=run["run_id"]))
    for _ in range(4):
        answer = world.post(CALLS, _body(run)).json()
        told = find_payload(
            tenant_id=world.tenant_id, decision_id=answer["decision_id"], kind="inputs"
        )
        assert "cust_canary" not in str(told)


@pytest.mark.proves("A5")
def test_nobody_else_acts_in_a_remembered_run(world: GatewayWorld) -> None:
    run = _warm(world)
    other = make_agent_token(make_agent(world.house.tenant, role="support_agent")).token
    assert world.post(CALLS, _body(run), token=other).status_code == 404
    in_a_name = world.post(CALLS, _body(run), delegation=world.user_token)
    assert in_a_name.status_code == 404  # a person's run is another


def test_another_token_of_the_agent_is_asked_about_itself(world: GatewayWorld) -> None:
    run = _warm(world)
    narrow = make_agent_token(world.agent, scopes=["orders.other"]).token
    for _ in range(3):
        answer = world.post(CALLS, _body(run), token=narrow)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "auth.scope")


def test_a_key_or_evidence_or_a_broken_body_takes_the_whole_way(world: GatewayWorld) -> None:
    run = _warm(world)
    first = world.post(CALLS, _body(run, idempotency_key="ik_1"))
    again = world.post(CALLS, _body(run, idempotency_key="ik_1"))
    assert again.json() == {**first.json(), "replayed": True}
    missing = world.post(CALLS, _body(run, evidence_refs=["ev_nowhere"]))
    assert missing.status_code != 500
    assert world.post(CALLS, _body(run, surprise=1)).status_code == 400


def test_a_call_that_was_claimed_is_not_made_again_when_its_end_can_not_be_written(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _warm(world)
    made = LEDGER.read_text().count("\n") if LEDGER.exists() else 0
    monkeypatch.setattr(
        "gateway.ending.write_together", lambda *_: frozenset()
    )  # the lease is lost
    world.post(CALLS, _body(run))
    assert ToolCall.objects.filter(run_id=run["run_id"]).count() == 4
    assert LEDGER.read_text().count("\n") == made + 1


def test_a_token_that_is_revoked_is_told_so_before_its_body_is_read(world: GatewayWorld) -> None:
    run = _warm(world)
    _revoke(world, run)
    assert world.post(CALLS, _body(run, surprise=1)).status_code == 401


def test_the_memory_is_bounded() -> None:
    memory, run = _Memory(), Run(run_id="run_1")
    for number in range(5000):
        memory.keep(f"tok_{number}", "run_1", run)
    assert memory.get("tok_0", "run_1") is None
    assert memory.get("tok_4999", "run_1") is run
    memory.forget("tok_4999", "run_1")
    assert memory.get("tok_4999", "run_1") is None


@pytest.mark.proves("A5")
def test_what_led_to_no_yes_is_forgotten(world: GatewayWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("an embedded database is asked every time")
    run = _warm(world)
    token = IssuedToken.objects.get(subject=world.agent.agent_id)
    assert _memory.get(token.pk, run["run_id"]) is not None
    _kill(world, run)
    world.post(CALLS, _body(run))
    assert _memory.get(token.pk, run["run_id"]) is None


def test_a_long_context_is_not_kept(world: GatewayWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("an embedded database is asked every time")
    run = world.open_run(context={"notes": "x" * 5000})
    for _ in range(3):
        assert len(_statements(world, run)) >= 4
    token = IssuedToken.objects.get(subject=world.agent.agent_id)
    assert _memory.get(token.pk, run["run_id"]) is None


def test_what_is_remembered_is_forgotten_after_a_minute() -> None:
    moments = [100.0]
    memory, run = _Memory(lambda: moments[-1]), Run(run_id="run_1")
    memory.keep("tok_1", "run_1", run)
    moments.append(159.0)
    assert memory.get("tok_1", "run_1") is run
    moments.append(161.0)
    assert memory.get("tok_1", "run_1") is None
    memory.keep("tok_2", "run_1", run)
    assert list(memory._kept) == [("tok_2", "run_1")]


def test_a_publication_builds_once_for_all_that_is_remembered(
    world: GatewayWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [_warm(world) for _ in range(3)]
    built: list[int] = []
    build = compiled._runs._build

    def counted(terms: Any, generation: int) -> Any:
        built.append(generation)
        return build(terms, generation)

    monkeypatch.setattr(compiled._runs, "_build", counted)
    bump_generation(world.tenant_id)
    for run in runs:
        assert world.post(CALLS, _body(run)).status_code == 200
    assert len(built) == 1


@pytest.mark.proves("C10")
def test_a_call_that_is_asked_anew_takes_one_place_in_the_rate(world: GatewayWorld) -> None:
    limited = orders(version="1.1.0")
    limited["capabilities"][0]["rate_limit"] = {"max": 4, "per_seconds": 3600}
    world.house.published(limited)
    run = _warm(world)
    bump_generation(world.tenant_id)
    assert world.post(CALLS, _body(run)).status_code == 200
    assert world.post(CALLS, _body(run)).status_code == 429


def test_a_run_that_failed_once_costs_no_more_than_a_new_one(world: GatewayWorld) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("an embedded database is asked every time")
    run = world.open_run()
    world.post(CALLS, _body(run, args={"order_id": "ord_0404"}))
    counts = [len(_statements(world, run)) for _ in range(3)]
    assert counts[1:] == [5, 5]  # with the loop guard's own


@pytest.mark.parametrize("token", [None, "Bearer not.a.token"], ids=["none", "bad"])
def test_nobody_reads_a_body_of_strangers(token: str | None, world: GatewayWorld) -> None:
    assert _status_and_bytes_read(token) == (401, 0)
    assert _status_and_bytes_read(f"Bearer {world.agent_token}") == (400, 8)


def _status_and_bytes_read(token: str | None) -> tuple[int, int]:
    body = BytesIO(b'{"a": 1}')
    given: dict[str, Any] = {"wsgi.input": body, "CONTENT_LENGTH": "8"}
    headers = {"Authorization": token} if token else {}
    answer = Client().post(CALLS, content_type="application/json", headers=headers, **given)
    return answer.status_code, body.tell()
