"""The policy simulator on real calls: a draft tried on what agents asked for a moment ago."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from contextos.core import strict_json
from contextos_client import Client, ContextOSError
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo

SIMULATOR = "/admin/registry/policybundleversion/simulator/"
REFUND = {"transaction_id": "txn_4200", "currency": "INR", "reason_code": "duplicate"}


def _make_calls(demo: Demo) -> None:
    """Two reads, and two refunds of which the draft would treat one differently."""
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
        for order in ("ord_1001", "ord_9999"):
            client.call(run, "orders.lookup", {"order_id": order})
        for number, amount in enumerate((300, 4200)):
            with suppress(ContextOSError):  # recorded with what it brought, whatever became of it
                client.call(
                    run,
                    "payments.issue_refund",
                    {**REFUND, "amount_inr": amount},
                    idempotency_key=f"ik_simulator{number:07d}",
                )


@pytest.mark.proves("C4")
def test_a_draft_is_tried_on_the_last_recorded_calls(sign_in: ArriveAs, demo: Demo) -> None:
    _make_calls(demo)
    admin = sign_in("admin")
    admin.open(SIMULATOR)
    admin.page.fill("#id_last_n", "50")
    admin.click("button[value=recorded]")
    again = admin.page.locator("#again")
    assert "would be decided otherwise" in again.inner_text()
    assert "payments.issue_refund" in again.inner_text()
    admin.page.locator("#again details summary").click()
    assert "orders.lookup" in again.inner_text()
    admin.judge_looks("policy-simulator-recorded")
    admin.click("#again tbody tr:has-text('payments.issue_refund') a")
    assert "payments.issue_refund" in admin.page.inner_text("main")
