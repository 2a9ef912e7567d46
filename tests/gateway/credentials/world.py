"""A tenant whose agent reads and writes a ledger behind a credential, in a person's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest
from django.test import Client

from audit.decisions import rows_of
from contextos.identity.models import User
from gateway.models import ToolCall
from tests.factories import make_user_token
from tests.gateway.credentials.ledger import (
    Ledger,
    LedgerConnector,
    ledger_manifest,
    ledger_pack,
)
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of
from tests.recorded_worlds import ready
from tests.registry.walks import pack_walk

CALLS = "/api/v1/tool-calls"


def _with_ledger() -> GatewayWorld:
    gateway = GatewayWorld()
    gateway.house.published(ledger_manifest())
    pack_walk(gateway.house).published(ledger_pack())
    return gateway


@dataclass
class LedgerWorld:
    """The gateway's world, and a far side that it reaches through a connector of these tests."""

    ledger: Ledger
    gateway: GatewayWorld = field(default_factory=lambda: ready(_with_ledger))

    def connect(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connector = LedgerConnector(self.ledger.address)
        monkeypatch.setattr("gateway.execution.connector_for", lambda protocol: connector)
        monkeypatch.setattr("gateway.pipeline.connector_for", lambda protocol: connector)

    @property
    def tenant(self) -> Any:
        return self.gateway.house.tenant

    @cached_property
    def ada(self) -> User:
        return self.gateway.house.user("operator")

    @cached_property
    def delegation(self) -> str:
        return make_user_token(self.ada, self.tenant).token

    @cached_property
    def run_id(self) -> str:
        answer = self.gateway.post(
            "/api/v1/runs",
            self.gateway.run_body(environment="development"),
            delegation=self.delegation,
        )
        assert answer.status_code == 201, answer.content
        return str(answer.json()["run_id"])

    def call(self, capability: str = "ledger.read", **body: Any) -> Any:
        if capability == "ledger.write":
            body = {"idempotency_key": "ik_1", **body}
        full = {
            "run_id": self.run_id,
            "capability_id": capability,
            "args": {"entry": "e1"},
            **body,
        }
        return self.gateway.post(CALLS, full, delegation=self.delegation)

    def state_of(self, answer: Any) -> Any:
        call_id = answer.json()["tool_call_id"]
        found = self.gateway.get(f"{CALLS}/{call_id}", delegation=self.delegation)
        return found.json()["result"]

    def rows(self, answer: Any) -> list[dict[str, Any]]:
        call = ToolCall.objects.get(pk=answer.json()["tool_call_id"])
        return rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)

    def browser(self, user: User | None = None) -> Client:
        return browser_of(user or self.ada, self.tenant)
