"""Calls of approvals' REST as one person makes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from approvals.models import ApprovalRequest
from contextos.core import strict_json
from registry.validation import Validator, compile_schema
from tests.approvals.world import GateWorld
from tests.architecture.source import ROOT
from tests.registry.api.calls import Caller

SCHEMA = Path(ROOT, "approvals", "schemas", "approval-request.v1.schema.json")


@cache
def schema() -> Validator:
    return compile_schema(strict_json.loads(SCHEMA.read_bytes()), imported=False)


def sound(answer: Any, status: int = 200) -> dict[str, Any]:
    """The answer's body, which must have the published shape."""
    assert answer.status_code == status, answer.content
    body: dict[str, Any] = answer.json()
    assert schema().errors(body) == ()
    return body


def approver(world: GateWorld, name: str) -> Caller:
    return Caller(world.person_token(name))


def ballot(world: GateWorld, request: ApprovalRequest, name: str, **changes: Any) -> dict[str, Any]:
    """What a person sends to approve; a member set to None is left out."""
    said = {
        "reason": "Checked with the customer.",
        "digest": request.digest,
        "otp": world.code(name) if "otp" not in changes else None,
        **changes,
    }
    return {member: value for member, value in said.items() if value is not None}
