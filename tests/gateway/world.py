"""A tenant in which an agent may look orders up: adapter, pack and policy published, tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from django.test import Client

from contextos.core import strict_json
from contextos.core.modes import ApprovalMode
from contextos.identity.models import Agent
from contextos.identity.services import add_environment
from registry.validation import Validator, compile_schema
from tests.architecture.source import ROOT
from tests.factories import SYSTEM, make_agent, make_agent_token, make_user_token
from tests.gateway.work_manifests import work, work_pack
from tests.registry import documents
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.walks import pack_walk, policy_walk

INTENT = "support.refund"
CALLS = "/api/v1/tool-calls"


@cache
def _published(name: str) -> Validator:
    path = ROOT / "gateway" / "schemas" / f"{name}.v1.schema.json"
    return compile_schema(strict_json.loads(path.read_bytes()), imported=False)


def as_published(address: str, answer: Any) -> Any:
    """The answer; whatever a test asks of tool calls, the envelopes fit their schemas (C2)."""
    if not address.startswith(CALLS):
        return answer
    body = answer.json()
    pair = body if "call" in body else {"result": body}
    assert _published("tool-result").errors(pair["result"]) == (), pair["result"]
    if "call" in pair:
        assert _published("tool-call").errors(pair["call"]) == (), pair["call"]
    return answer


@dataclass
class GatewayWorld:
    """Everything a governed call needs, made through the services."""

    house: House = field(default_factory=House)
    max_mode: str = ApprovalMode.DESTRUCTIVE.value
    with_work: bool = False  # also the adapter whose calls go to a worker

    def __post_init__(self) -> None:
        if not self.house.tenant.environments.filter(name="production").exists():
            add_environment(tenant_id=self.tenant_id, name="production", actor=SYSTEM)
        self.house.published(orders())
        policy_walk(self.house).published(documents.bundle())
        pack_walk(self.house).published(documents.pack())
        if self.with_work:
            self.house.published(work())
            pack_walk(self.house).published(work_pack())

    @property
    def tenant_id(self) -> str:
        return self.house.tenant_id

    @cached_property
    def agent(self) -> Agent:
        return make_agent(self.house.tenant, role="support_agent", max_mode=self.max_mode)

    @cached_property
    def agent_token(self) -> str:
        return make_agent_token(self.agent).token

    @cached_property
    def user_token(self) -> str:
        return make_user_token(self.house.user("service"), self.house.tenant).token

    def post(self, address: str, body: Any, **how: Any) -> Any:
        answer = Client().post(
            address, body, content_type="application/json", headers=self._headers(**how)
        )
        return as_published(address, answer)

    def get(self, address: str, **how: Any) -> Any:
        return as_published(address, Client().get(address, headers=self._headers(**how)))

    def run_body(self, **changes: Any) -> dict[str, Any]:
        return {
            "tenant_id": self.tenant_id,
            "intent": INTENT,
            "environment": "production",
            **changes,
        }

    def open_run(self, **changes: Any) -> dict[str, Any]:
        answer = self.post("/api/v1/runs", self.run_body(**changes))
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    def _headers(
        self, *, token: str | None = None, delegation: str | None = None, **more: str
    ) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {token or self.agent_token}", **more}
        return headers | ({"X-User-Delegation": delegation} if delegation else {})
