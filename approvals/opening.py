"""The fragment that opens a request: written by the gateway together with the call it is about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from approvals.gates import GateTerms
from approvals.models import ApprovalRequest
from approvals.selectors import OpenGate, pending_of_agent
from approvals.states import RequestState
from audit.one_statement import Insert, Json
from contextos.core.errors import coded_error
from contextos.core.ids import new_id

PENDING_PER_AGENT = 50
_FIELDS = ApprovalRequest._meta.concrete_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is to be approved, as the gateway froze it; approvals never looks behind it."""

    kind: str
    id: str
    digest: str
    view: dict[str, Any]
    excluded: frozenset[str]
    payload_id: str
    policy_decision_id: str
    effective_mode: str
    risk: int
    capability_id: str
    agent_id: str
    user_id: str
    amount: Decimal | None
    unit: str
    likeness: str
    mark: str


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request about to be written."""

    request: ApprovalRequest
    write: Insert


def refuse_flood(tenant_id: str, agent_id: str) -> None:
    """People can't read any number of requests: an agent waits until some are decided."""
    if pending_of_agent(tenant_id, agent_id) >= PENDING_PER_AGENT:
        raise coded_error("approval.too_many_pending", retry_after_ms=60_000)


def prepare_request(
    *,
    tenant_id: str,
    gate: OpenGate,
    quorum: int | None,
    subject: Subject,
    now: datetime,
    after: str | None,
) -> PreparedRequest:
    """The row, with the gate's terms and times as of this moment."""
    terms = gate.terms.with_quorum(quorum)
    request = ApprovalRequest(
        approval_id=new_id("apr"),
        tenant_id=tenant_id,
        gate_id=gate.gate_id,
        gate_version=gate.version,
        gate_version_id=gate.version_id,
        subject_kind=subject.kind,
        subject_id=subject.id,
        digest=subject.digest,
        state=RequestState.PENDING,
        terms=terms.as_dict(),
        view=subject.view,
        excluded=sorted(subject.excluded | gate.authors),
        payload_id=subject.payload_id,
        policy_decision_id=subject.policy_decision_id,
        effective_mode=subject.effective_mode,
        risk=subject.risk,
        capability_id=subject.capability_id,
        agent_id=subject.agent_id,
        user_id=subject.user_id,
        amount=subject.amount,
        unit=subject.unit,
        likeness=subject.likeness,
        checked_mark=subject.mark,
        created_at=now,
        **_times(terms, now),
    )
    table = ApprovalRequest._meta.db_table
    return PreparedRequest(
        request, Insert(name="approval", table=table, values=_columns(request), after=after)
    )


def _times(terms: GateTerms, now: datetime) -> dict[str, Any]:
    first_reminder = terms.reminders_after_seconds[:1]
    first_step = terms.escalations[:1]
    return {
        "expires_at": now + timedelta(seconds=terms.expires_after_seconds),
        "reminds_at": now + timedelta(seconds=first_reminder[0]) if first_reminder else None,
        "escalates_at": now + timedelta(seconds=first_step[0].after_seconds)
        if first_step
        else None,
    }


def _columns(request: ApprovalRequest) -> dict[str, Any]:
    json_columns = {"terms", "view", "excluded"}
    return {
        str(field.column): Json(getattr(request, field.attname))
        if field.attname in json_columns
        else getattr(request, field.attname)
        for field in _FIELDS
    }
