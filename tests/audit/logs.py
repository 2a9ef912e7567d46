"""Logs for tests: records and events written as always, sealed with a key of the tests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from audit.decision_record import CapabilityFacts, DecisionFacts, DecisionStatus, LineageFacts
from audit.decisions import record_decision
from audit.models import Checkpoint, UnsealedLeaf
from audit.sealing import Witnessed, seal_batch, tenants_to_seal
from audit.services import record_event
from contextos.core.envelopes import PrincipalKind, PrincipalRef
from contextos.core.ids import new_id
from contextos.core.signing import Ed25519Signer, Signer
from tests.factories import SYSTEM

TENANT = "tenant_one"
MOMENT = datetime(2026, 11, 16, 12, 0, 0, 123000, tzinfo=UTC)
SIGNER = Ed25519Signer.generate()


def facts(tenant_id: str = TENANT, **more: Any) -> DecisionFacts:
    """One row of a decision of its own."""
    chain = (
        PrincipalRef(kind=PrincipalKind.USER, id="user_1", tenant_id=tenant_id, display="Sana"),
        PrincipalRef(kind=PrincipalKind.AGENT, id="agent_1", tenant_id=tenant_id),
    )
    given: dict[str, Any] = {
        "decision_id": new_id("dec"),
        "seq": 1,
        "tenant_id": tenant_id,
        "status": DecisionStatus.EXECUTED,
        "principal_chain": chain,
        "capability": CapabilityFacts(id="orders.lookup", mode_effective="read_only"),
        "lineage": LineageFacts(adapter_id="adp_orders"),
        "created_at": MOMENT,
        "run_id": "run_1",
        "intent": "support.refund",
    }
    return DecisionFacts(**given | more)


def write_records(number: int, tenant_id: str = TENANT) -> list[str]:
    """As many rows, unsealed; their record ids."""
    return [record_decision(facts(tenant_id)) for _ in range(number)]


def write_events(number: int, tenant_id: str = TENANT) -> list[str]:
    """As many events, unsealed; their ids."""
    return [
        record_event(
            tenant_id=tenant_id,
            action="identity.agent.changed",
            actor=SYSTEM,
            subject_kind="agent",
            subject_id=f"agent_{each}",
        ).pk
        for each in range(number)
    ]


def seal_all(
    signer: Signer = SIGNER, witnessed: Witnessed | None = None, tenants: Sequence[str] = ()
) -> list[Checkpoint]:
    """Seal until nothing waits; every checkpoint made."""
    known, made = witnessed or Witnessed(), []
    while wanted := [*tenants] or tenants_to_seal(signer):
        done = [seal_batch(each, signer=signer, witnessed=known) for each in wanted]
        made += [sealed.checkpoint for sealed in done if sealed]
        if not any(done):
            break
    return made


def waiting() -> set[str]:
    """The leaves nobody has sealed yet."""
    return set(UnsealedLeaf.objects.values_list("leaf_id", flat=True))
