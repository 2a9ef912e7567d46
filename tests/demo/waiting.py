"""Somebody who waits for a call of the running demo."""

from __future__ import annotations

import re
import secrets
import socket
from typing import Any

import httpx
import pytest

from tests.demo.running import Demo

LONGEST = 25
_ADDRESS = re.compile(r"`Prefer: wait`\) ask +(http://127\.0\.0\.1:\d+)")


def waiting_url(demo: Demo) -> str:
    """Where the greeting says that one waits."""
    found = _ADDRESS.findall((demo.data_dir.parent / "demo.log").read_text())
    return str(found[-1])


def agent_of(demo: Demo) -> httpx.Client:
    """The demo's agent, acting for the support person."""
    headers = {
        "Authorization": f"Bearer {demo.ready['agent_token']}",
        "X-User-Delegation": demo.ready["user_token"],
    }
    return httpx.Client(headers=headers, trust_env=False, timeout=LONGEST + 10)


def paused_refund(demo: Demo, agent: httpx.Client) -> dict[str, Any]:
    """A refund that waits for finance."""
    run = {"tenant_id": demo.ready["tenant_id"], "intent": "support.refund"}
    run_id = agent.post(f"{demo.url}/api/v1/runs", json=run).json()["run_id"]
    args = {
        "transaction_id": "txn_4202",
        "amount_inr": 11,
        "currency": "INR",
        "reason_code": "customer_request",
        "idempotency_key": f"ik_{secrets.token_hex(8)}",
    }
    call = {"run_id": run_id, "capability_id": "payments.issue_refund", "args": args}
    return dict(agent.post(f"{demo.url}/api/v1/tool-calls", json=call).json())


def reject(demo: Demo, approval_id: str) -> None:
    """As fin1."""
    path = f"{demo.url}/api/v1/approvals/{approval_id}"
    headers = {"Authorization": f"Bearer {demo.ready['approver_tokens']['fin1']}"}
    digest = httpx.get(path, headers=headers).json()["subject"]["digest"]
    vote = {"reason": "Paid back already.", "digest": digest}
    assert httpx.post(f"{path}/reject", json=vote, headers=headers).status_code == 200


def begin_to_wait(demo: Demo) -> socket.socket:
    """A connection on which the answer is awaited for longer than anybody wants to wait."""
    with agent_of(demo) as agent:
        asked = paused_refund(demo, agent)
    assert asked["status"] == "paused"
    waiting = socket.create_connection(("127.0.0.1", int(waiting_url(demo).rsplit(":", 1)[1])))
    waiting.sendall(
        f"GET /api/v1/tool-calls/{asked['tool_call_id']} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {demo.ready['agent_token']}\r\n"
        f"X-User-Delegation: {demo.ready['user_token']}\r\nPrefer: wait=30\r\n\r\n".encode()
    )
    waiting.settimeout(1.0)
    with pytest.raises(TimeoutError):
        waiting.recv(1)  # nobody answers yet
    return waiting
