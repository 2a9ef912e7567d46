"""An operator watches a breaker open and close, in a real browser against the running product."""

from __future__ import annotations

import pytest

from tests.e2e.agent import Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo
from tests.e2e.visitor import Visitor

GATEWAY = "/admin/gateway/"
PAUSE_MS = 4000  # of static/contextos/watch.js
NOWHERE = "http://127.0.0.1:9/mcp"


def _lookup(agent: Agent, run_id: str, number: int) -> dict[str, object]:
    args = {"transaction_id": f"txn_{4200 + number}"}
    return agent.call(run_id, "payments.lookup_transaction", args)


def _move_payments(operator: Visitor, address: str) -> str:
    """Enter another address for the payments server; the one there was."""
    operator.open(f"{GATEWAY}endpoint/")
    operator.click("#result_list tr:has-text('payments') a")
    box = operator.page.locator("#id_url")
    before = box.input_value()
    box.fill(address)
    operator.click("button[name='_save'], input[name='_save']")
    return before


def _sees(visitor: Visitor, adapter: str, state: str) -> None:
    """On the page that is open, without asking for it again."""
    row = visitor.page.locator("main tbody tr", has_text=adapter)
    row.get_by_text(state, exact=True).wait_for(timeout=5 * PAUSE_MS)


@pytest.mark.proves("C12")
def test_an_operator_watches_a_breaker_open_and_close(sign_in: ArriveAs, demo: Demo) -> None:
    agent, operator = Agent(demo), sign_in("operator")
    run_id = agent.open_run()
    assert _lookup(agent, run_id, 0)["status"] == "ok"
    operator.open(f"{GATEWAY}health/")
    operator.judge_looks("gateway-health-well")
    address = _move_payments(operator, NOWHERE)
    try:
        operator.open(f"{GATEWAY}health/")
        codes = [_lookup(agent, run_id, number)["error"]["code"] for number in range(1, 8)]  # type: ignore[index]
        assert codes[-1] == "circuit.open", codes
        _sees(operator, "Payments", "open")
        operator.judge_looks("gateway-health-open")
        operator.click("main tbody tr:first-child a")
        operator.judge_looks("gateway-health-adapter-open")
        operator.page.locator("#id_reset-reason").fill("Half a reason")
        operator.page.locator("#id_reset-reason").blur()
        for _ in "ab":
            with operator.page.expect_response("**/health/**", timeout=5 * PAUSE_MS):
                pass
        assert operator.page.input_value("#id_reset-reason") == "Half a reason"
    finally:
        _move_payments(operator, address)
    other = sign_in("admin")
    other.open(f"{GATEWAY}health/")
    operator.open(f"{GATEWAY}health/")
    operator.click("main tbody tr:first-child a")
    # With the keyboard alone: into the reason, and Enter.
    operator.page.locator("#id_reset-reason").focus()
    operator.page.keyboard.type("The address was wrong; it is right again.")
    operator.press_enter()
    main = operator.page.inner_text("main")
    assert "The breaker is closed." in operator.page.inner_text("body")
    assert "Calls reach the adapter." in main
    assert "Closed" in main
    _sees(other, "Payments", "closed")
    assert _lookup(agent, run_id, 0)["status"] == "ok"
    operator.page.reload()
    operator.judge_looks("gateway-health-adapter-closed")
    operator.open(f"{GATEWAY}alert/")
    assert "A breaker opened" in operator.page.inner_text("main")
    operator.judge_looks("gateway-alerts")
    operator.click("#result_list tbody tr a")
    operator.judge_looks("gateway-alert")
    operator.open(f"{GATEWAY}alertreceiver/add/")
    operator.judge_looks("gateway-alert-receiver")
