"""Replays a decision for somebody, and records that it was done; nothing else is written."""

from __future__ import annotations

from collections import Counter
from typing import Any

from audit.access import Window
from audit.clearance import CLASS_OF_VALUES
from audit.services import record_event
from contextos.core.events import Actor
from gateway.models import Evidence, ToolCall
from gateway.replaying.engine import replay_decision
from gateway.replaying.findings import ReplayResult
from gateway.replaying.loading import recorded_decision
from gateway.replaying.packet_files import packet_file
from gateway.replaying.packets import packet_of
from gateway.replaying.surroundings import Surroundings
from registry.recorded_documents import RecordedDocuments

SUBJECT_KIND = "decision"


def replay(
    *, tenant_id: str, decision_id: str, actor: Actor, window: Window | None = None
) -> dict[str, Any]:
    """The replay packet of a decision of this tenant, with what came out just now.

    `window` is what the person may read; the installation's own commands look through none.
    """
    decision = recorded_decision(tenant_id=tenant_id, decision_id=decision_id)
    if window is not None:
        window.require(decision.began_at)
    result = replay_decision(decision, Surroundings(RecordedDocuments(tenant_id)))
    packet = packet_of(decision, result)
    record_event(
        tenant_id=tenant_id,
        action="decision.replayed",
        actor=actor,
        subject_kind=SUBJECT_KIND,
        subject_id=decision_id,
        data={
            "replay_packet_id": packet["replay_packet_id"],
            "status": result.status.value,
            "diffs": kinds_of(result),
            "decision_record_hash": packet["expected"]["decision_record_hash"],
        },
        trace_id=decision.first.get("trace_id"),
    )
    return packet


def kinds_of(result: ReplayResult) -> dict[str, int]:
    """How many differences of each type."""
    return dict(Counter(diff.type.value for diff in result.diffs))


def takes_values(window: Window, decision_id: str) -> bool:
    """Whether values go along: arguments and answers, and the evidence with its own classes."""
    refs = Evidence.objects.filter(
        tenant_id=window.tenant_id,
        tool_call_id__in=ToolCall.objects.filter(
            tenant_id=window.tenant_id, decision_id=decision_id
        ).values("tool_call_id"),
    )
    classes = {CLASS_OF_VALUES.value, *refs.values_list("classification", flat=True)}
    return all(window.reads(name) for name in classes)


def export_packet(
    *,
    tenant_id: str,
    decision_id: str,
    actor: Actor,
    with_values: bool,
    window: Window | None = None,
) -> dict[str, Any]:
    """The packet file of a decision, for a replay elsewhere; the log keeps who took it along."""
    decision = recorded_decision(tenant_id=tenant_id, decision_id=decision_id)
    if window is not None:
        window.require(decision.began_at)
    documents = RecordedDocuments(tenant_id)
    result = replay_decision(decision, Surroundings(documents))
    packet = packet_file(decision, result, documents, with_values=with_values)
    record_event(
        tenant_id=tenant_id,
        action="decision.packet_exported",
        actor=actor,
        subject_kind=SUBJECT_KIND,
        subject_id=decision_id,
        data={
            "replay_packet_id": packet["replay_packet_id"],
            "with_values": with_values,
            "status": result.status.value,
        },
        trace_id=decision.first.get("trace_id"),
    )
    return packet
