"""Replay in a browser: one decision, a tampered one, and what a draft would have changed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from contextos.core import strict_json
from contextos_client import Client, ContextOSError
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo

REPLAYS = "/admin/gateway/replays/"
REFUND = {"transaction_id": "txn_4200", "currency": "INR", "reason_code": "duplicate"}


def _make_calls(demo: Demo) -> str:
    """Reads and refunds; the id of a read."""
    ready: dict[str, Any] = dict(
        strict_json.loads_object((demo.data_dir.parent / "ready.json").read_bytes())
    )
    with Client(
        ready["url"],
        ready["agent_token"],
        user_token=ready["user_token"],
        mcp_url=ready["mcp_url"],
    ) as client:
        run = client.open_run(ready["tenant_id"], "support.refund")
        read = client.call(run, "orders.lookup", {"order_id": "ord_1001"})
        for number, amount in enumerate((300, 4200)):
            with suppress(ContextOSError):  # recorded, whatever became of it
                client.call(
                    run,
                    "payments.issue_refund",
                    {**REFUND, "amount_inr": amount},
                    idempotency_key=f"ik_replay{number:010d}",
                )
    return str(read.tool_call_id)


@pytest.mark.proves("E4")
def test_a_call_is_replayed_by_a_click_and_a_period_in_the_background(
    sign_in: ArriveAs, demo: Demo
) -> None:
    call_id = _make_calls(demo)
    admin = sign_in("admin")
    admin.open(f"/admin/gateway/toolcall/{call_id}/change/")
    admin.click("button:has-text('Replay this decision')")
    assert "The decision comes out the same again" in admin.page.inner_text("main")
    admin.judge_looks("replay-equal")
    admin.open(REPLAYS)
    admin.judge_looks("replay-periods")
    admin.page.select_option("#id_against", "record")
    admin.click("button:has-text('Start')")
    admin.page.wait_for_selector(".reg-badges >> text=Done", timeout=60_000)
    text = admin.page.inner_text("main")
    assert "taken again" in text
    assert "0\xa0different" in text or "0 different" in text
    admin.judge_looks("replay-period-record")


@pytest.mark.proves("E4", "C4")
def test_an_author_sees_what_a_draft_would_have_changed(sign_in: ArriveAs, demo: Demo) -> None:
    _make_calls(demo)
    admin = sign_in("admin")
    admin.open("/admin/registry/policybundleversion/simulator/")
    admin.click("a:has-text('Try on a past week')")
    chosen = admin.page.input_value("#id_against")
    assert chosen.startswith("policy:")
    admin.click("button:has-text('Start')")
    admin.page.wait_for_selector(".reg-badges >> text=Done", timeout=60_000)
    assert "would have been different" in admin.page.inner_text("main")
    admin.judge_looks("replay-period-draft")
