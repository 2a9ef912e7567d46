"""Who waits for a decision asks a server of its own: it answers when the vote fell, not later."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from contextos.demo.supervisor import free_port_beside, port_is_free
from tests.demo.running import Demo, free_port
from tests.demo.waiting import LONGEST, agent_of, paused_refund, reject, waiting_url

SHORT = 2.0


@pytest.mark.live
@pytest.mark.proves("C2")
def test_a_long_poll_answers_as_soon_as_somebody_decided(demo: Demo) -> None:
    assert demo.ready["mcp_url"] is None  # until there is an /mcp to name
    with agent_of(demo) as agent:
        asked = paused_refund(demo, agent)
        address = f"{waiting_url(demo)}/api/v1/tool-calls/{asked['tool_call_id']}"
        still = agent.get(address, headers={"Prefer": "wait=1"}).json()["result"]
        assert still["status"] == "paused"
        vote = threading.Timer(SHORT, reject, [demo, asked["approval"]["approval_id"]])
        vote.start()
        began = time.monotonic()
        ended = agent.get(address, headers={"Prefer": f"wait={LONGEST}"}).json()["result"]
        waited = time.monotonic() - began
        vote.join()
    assert ended["status"] == "rejected"
    assert SHORT * 0.9 < waited < LONGEST - 5


def test_the_port_beside_is_the_next_one_or_any_free_one() -> None:
    port = free_port()
    assert port_is_free(free_port_beside(port))
    assert port_is_free(free_port_beside(65535))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = int(taken.getsockname()[1])
        assert free_port_beside(number - 1) != number
