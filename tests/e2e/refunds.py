"""Refunds that wait for finance, and what approvers do with them in the browser."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from typing import Any

import psycopg

from tests.e2e.agent import Agent
from tests.e2e.demo_process import Demo
from tests.e2e.visitor import Visitor

QUEUE = "/admin/approvals/approvalrequest/"


class Refunds:
    """The demo's agent asking for money."""

    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        self.agent = Agent(demo)
        self.run_id = self.agent.open_run()

    def ask(self, amount: int, **changes: Any) -> dict[str, Any]:
        """A refund that waits for finance."""
        args = {
            "transaction_id": "txn_4200",
            "amount_inr": amount,
            "currency": "INR",
            "reason_code": "customer_request",
            **changes,
        }
        key = f"ik_{secrets.token_hex(8)}"
        result = self.agent.call(self.run_id, "payments.issue_refund", args, idempotency_key=key)
        assert result["status"] == "paused", result["error"]
        return result

    def tame(self, *asked: dict[str, Any]) -> None:
        """As if these were no destructive calls: the demo has no others behind a gate."""
        marks = ", ".join(f"'{ask['approval']['approval_id']}'" for ask in asked)
        statement = (
            "UPDATE approvals_approvalrequest SET effective_mode = 'network' "
            f"WHERE approval_id IN ({marks})"
        )
        if self.demo.database_url is None:
            path = self.demo.data_dir / "contextos.sqlite3"
            with closing(sqlite3.connect(path, timeout=20)) as file, file:
                file.execute(statement)
            return
        with psycopg.connect(self.demo.database_url, autocommit=True) as server:
            server.execute(statement)


def page_of(asked: dict[str, Any], name: str = "change") -> str:
    """Where the request stands, or one of its steps."""
    return f"{QUEUE}{asked['approval']['approval_id']}/{name}/"


def press(visitor: Visitor, key: str) -> None:
    """A key that leads to another page."""
    with visitor.page.expect_navigation():
        visitor.page.keyboard.press(key)


def reject(visitor: Visitor, asked: dict[str, Any], reason: str = "Only a test.") -> None:
    """By keyboard, from the confirm step."""
    visitor.open(page_of(asked, "reject"))
    visitor.page.keyboard.type(reason)
    press(visitor, "Control+Enter")
