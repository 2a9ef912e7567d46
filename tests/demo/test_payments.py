"""The demo's payments server: a real MCP server with a ledger of its own, paid once per key."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from contextos.demo.ledger import Ledger, PaymentRefused
from gateway.connectors.base import Credential, Reply, ReplyKind
from gateway.connectors.mcp.portal import close_sessions
from tests.demo.running import ROOT, free_port
from tests.gateway.connectors.mcp.calls import fault_of, invoke

TOKEN = "a-token-of-the-payments-server"
KEY = "ik_aaaaaaaaaaaaaaaa"


def _args(**changes: Any) -> dict[str, Any]:
    return {
        "transaction_id": "txn_4200",
        "amount_inr": 4200,
        "currency": "INR",
        "reason_code": "customer_request",
        "idempotency_key": KEY,
        **changes,
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite3")


def test_the_same_key_is_paid_once(ledger: Ledger, tmp_path: Path) -> None:
    first, again = (ledger.refund(_args(), tool_call_id="tool_1") for _ in range(2))
    assert first == again
    book = sqlite3.connect(tmp_path / "ledger.sqlite3")
    assert book.execute("SELECT count(*) FROM refund").fetchone() == (1,)
    assert ledger.lookup("txn_4200")["status"] == "refunded"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"amount_inr": 4201}, "ALREADY_REFUNDED"),
        ({"transaction_id": "txn_4201"}, "NOT_SETTLED"),
        ({"transaction_id": "txn_0"}, "TRANSACTION_NOT_FOUND"),
    ],
)
def test_what_can_not_be_paid_back_is_refused(
    ledger: Ledger, change: dict[str, Any], code: str
) -> None:
    with pytest.raises(PaymentRefused) as refused:
        ledger.refund(_args(**change), tool_call_id="tool_1")
    assert refused.value.code == code


@pytest.mark.parametrize("change", [{"amount_inr": 100}, {"transaction_id": "txn_4202"}])
def test_a_key_that_paid_something_else_is_refused(ledger: Ledger, change: dict[str, Any]) -> None:
    ledger.refund(_args(), tool_call_id="tool_1")
    with pytest.raises(PaymentRefused) as refused:
        ledger.refund(_args(**change), tool_call_id="tool_2")
    assert refused.value.code == "KEY_REUSED"


def test_parts_are_paid_until_nothing_is_left(ledger: Ledger) -> None:
    ledger.refund(_args(amount_inr=4000), tool_call_id="tool_1")
    with pytest.raises(PaymentRefused):
        ledger.refund(_args(amount_inr=201, idempotency_key="ik_b"), tool_call_id="tool_2")
    rest = ledger.refund(_args(amount_inr=200, idempotency_key="ik_c"), tool_call_id="tool_3")
    assert rest["status"] == "accepted"


# --- the process -------------------------------------------------------------------------------
class Served:
    """The server as the demo starts it."""

    def __init__(self, folder: Path) -> None:
        self.port, self.book = free_port(), folder / "ledger.sqlite3"
        (folder / "token").write_text(TOKEN)
        where = ["--port", str(self.port), "--ledger", str(self.book)]
        token = ["--token-file", str(folder / "token")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "contextos.demo.payments", *where, *token], cwd=ROOT
        )
        until = time.monotonic() + 60
        while time.monotonic() < until and not self._answers():
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def call(self, tool: str, args: dict[str, Any]) -> Reply:
        shown = Credential(ref="cred_1", headers={"Authorization": f"Bearer {TOKEN}"})
        return invoke(self.url, tool, args=args, credential=shown, seconds=20)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(timeout=20)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("payments"))
    yield server
    close_sessions()
    server.stop()


@pytest.mark.slow
@pytest.mark.proves("A1", "C9")
def test_the_server_pays_once_per_key_and_remembers_which_call(served: Served) -> None:
    found = served.call("payments_lookup_transaction", {"transaction_id": "txn_4200"})
    assert found.output["status"] == "settled"
    replies = [served.call("payments_issue_refund", _args()) for _ in range(2)]
    assert replies[0].output == replies[1].output
    paid = replies[0].output
    changed = {"kind": "refund", "ref": paid["refund_id"], "reversal_token": paid["reversal_token"]}
    assert [list(reply.mutations) for reply in (found, *replies)] == [[], [changed], [changed]]
    rows = sqlite3.connect(served.book).execute("SELECT idempotency_key, tool_call_id FROM refund")
    assert rows.fetchall() == [(KEY, "tool_1")]


@pytest.mark.slow
@pytest.mark.proves("C13")
@pytest.mark.parametrize(
    ("tool", "args", "code"),
    [
        ("payments_issue_refund", _args(amount_inr=49000), "ALREADY_REFUNDED"),
        ("payments_issue_refund", {"transaction_id": "txn_4200"}, "BAD_ARGUMENTS"),
        ("payments_lookup_transaction", {"transaction_id": "txn_0"}, "TRANSACTION_NOT_FOUND"),
    ],
)
def test_its_no_carries_a_code(served: Served, tool: str, args: dict[str, Any], code: str) -> None:
    args = {**args, "idempotency_key": "ik_bbbbbbbbbbbbbbbb"} if "amount_inr" in args else args
    reply = served.call(tool, args)
    assert reply.kind is ReplyKind.TOOL_ERROR
    assert (reply.error or {})["code"] == code


@pytest.mark.slow
@pytest.mark.proves("C7")
def test_a_stranger_is_refused(served: Served) -> None:
    assert fault_of(served.url, seconds=10).code == "credential.refused"
