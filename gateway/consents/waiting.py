"""A call that has to wait for its person's consent: paused, recorded, and told where to go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from audit.decision_record import DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Insert, Json, write_together
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error, tool_error
from contextos.core.ids import new_id
from gateway.attempts import Attempt
from gateway.consents.asking import consent_error
from gateway.credentials.error_codes import CONSENT_NEEDED
from gateway.credentials.terms import ask_of
from gateway.ending import move, next_row
from gateway.models import Consent, ConsentRequest, ConsentState
from gateway.standing import result_of
from gateway.states import CallState

PATIENCE = timedelta(hours=24)


def waits_for_consent(attempt: Attempt, fault: object) -> bool:
    """Whether this fault is a question to a person; what may have happened before is no longer."""
    needed = isinstance(fault, ContextOSError) and fault.code == CONSENT_NEEDED
    return needed and not attempt.in_doubt


def begin_consent(attempt: Attempt, fault: ContextOSError) -> None:
    """Pause the call; the attempt does not count, since nothing left the house."""
    call = attempt.call
    request = _request(attempt, fault)
    error = tool_error(consent_error(request))
    recorded = {name: error[name] for name in ("kind", "code", "message", "retryable")}
    facts = next_row(attempt, DecisionStatus.ESCALATED, error=recorded)
    paused = {
        "worker": "",
        "deadline_at": None,
        "attempts": max(0, call.attempts - 1),
        "error_code": "",
        "ends_at": request.expires_at,
    }
    done = write_together(
        move(call, CallState.PAUSED, facts, paused),
        *prepare_decision(facts, after="call").writes,
        Insert(
            name="consent",
            table=ConsentRequest._meta.db_table,
            values=_columns(request),
            after="call",
        ),
    )
    if "call" not in done:
        raise coded_error("call.lost_lease")


def paused_for_consent(attempt: Attempt, fault: ContextOSError) -> dict[str, Any]:
    """The same for a caller who waits in line: what they are told at once."""
    begin_consent(attempt, fault)
    attempt.call.refresh_from_db()
    return result_of(attempt.call)


def _request(attempt: Attempt, fault: ContextOSError) -> ConsentRequest:
    call, now = attempt.call, utcnow()
    ask = ask_of(attempt)
    if ask is None:
        raise LookupError("nobody asks this adapter's callers for anything")
    before = Consent.objects.filter(
        credential_id=fault.data["credential_id"], user_id=call.user_id, revoked_at__isnull=True
    ).first()
    return ConsentRequest(
        request_id=new_id("csr"),
        tenant_id=call.tenant_id,
        credential_id=fault.data["credential_id"],
        user_id=call.user_id,
        tool_call_id=call.pk,
        capability_id=call.capability_id,
        # The new tokens take the place of the old: what was granted before is asked for again.
        scopes=sorted({*ask.scopes, *(before.scopes if before else ())}),
        resource=ask.resource or "",
        audiences=list(ask.audiences),
        state=ConsentState.PENDING.value,
        created_at=now,
        expires_at=now + PATIENCE,
    )


def _columns(request: ConsentRequest) -> dict[str, Any]:
    columns = {
        str(field.column): getattr(request, field.attname)
        for field in ConsentRequest._meta.concrete_fields
    }
    return {**columns, "scopes": Json(request.scopes), "audiences": Json(request.audiences)}
