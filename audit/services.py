"""The sole writers of the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from audit.actions import require_known
from audit.event_record import EventFacts, canonical_text, derived_columns, leaf_hash
from audit.models import AuditEvent, UnsealedLeaf
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.trace_context import current_trace


def record_event(
    *,
    tenant_id: str,
    action: str,
    actor: Actor,
    subject_kind: str,
    subject_id: str,
    reason: str = "",
    data: Mapping[str, Any] | None = None,
    trace_id: str | None = None,
) -> AuditEvent:
    """Write one event. Call it inside the transaction of the change it tells about.

    Whatever fails here is raised, so that the change rolls back with it: no record, no effect.
    Events of the installation itself go to the reserved tenant `platform`. Values must be JSON;
    secrets among them are removed and their places listed in the record's `redactions`.
    """
    facts = EventFacts(
        event_id=new_id("aud"),
        tenant_id=tenant_id,
        action=require_known(action),
        actor=actor,
        subject_kind=subject_kind,
        subject_id=subject_id,
        created_at=utcnow(),
        reason=reason,
        data=data or {},
        trace_id=trace_id or _trace_of_request(),
    )
    text = canonical_text(facts)
    # Columns are read back from the text, never taken from the arguments: they can't disagree.
    columns = derived_columns(strict_json.loads_object(text))
    return _written(AuditEvent(**columns, text=text, leaf_hash=leaf_hash(text)))


def _written(event: AuditEvent) -> AuditEvent:
    """The event and the leaf that waits for the sealer, both or neither."""
    waiting = UnsealedLeaf(
        leaf_id=event.pk,
        tenant_id=event.tenant_id,
        leaf_hash=event.leaf_hash,
        created_at=event.created_at,
    )
    with transaction.atomic(savepoint=False):
        event.save(force_insert=True)
        waiting.save(force_insert=True)
    return event


def _trace_of_request() -> str | None:
    trace = current_trace()
    return trace.trace_id if trace else None
