"""The canonical record of an event: how it is built, and how it is read back and checked (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from audit import merkle
from contextos.core.canonical import digest, digest_bytes, frame_around
from contextos.core.clock import format_time, parse_time
from contextos.core.events import Actor
from contextos.core.redaction import redact

RECORD_VERSION = "contextos.audit_event.v1"
_HASH = "record_hash"
_HASH_MEMBER = b'"record_hash":'


@dataclass(frozen=True, slots=True)
class EventFacts:
    """What happened, before it is written down."""

    event_id: str
    tenant_id: str
    action: str
    actor: Actor
    subject_kind: str
    subject_id: str
    created_at: datetime
    reason: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str | None = None


def canonical_text(facts: EventFacts) -> str:
    """The one text that is stored, hashed and proved; secrets are gone and their places named."""
    shown = redact({"reason": facts.reason, "data": dict(facts.data)})
    record = {
        "record_version": RECORD_VERSION,
        "event_id": facts.event_id,
        "tenant_id": facts.tenant_id,
        "action": facts.action,
        "actor": facts.actor.as_record(),
        "subject": {"kind": facts.subject_kind, "id": facts.subject_id},
        "reason": shown.value["reason"],
        "data": shown.value["data"],
        "redactions": sorted(shown.removed),
        "trace_id": facts.trace_id,
        "created_at": format_time(facts.created_at),
    }
    return hashed_text(record)


def hashed_text(record: Mapping[str, Any]) -> str:
    """The canonical text of a record with its own hash among its members, each part written once.

    Members sort by name, so what stands before and after the hash can be written apart.
    """
    frame = frame_around(_HASH, record)
    hashed = digest_bytes(frame.head.removesuffix(_HASH_MEMBER) + frame.tail[1:])
    return frame.holding(f'"{hashed}"'.encode()).decode()


def record_hash(record: Mapping[str, Any]) -> str:
    """`sha256:<hex>` over the canonical record without its own hash."""
    return digest({name: value for name, value in record.items() if name != _HASH})


def leaf_hash(text: str) -> bytes:
    """SHA-256(0x00 || text), the leaf of the Merkle log."""
    return merkle.leaf_hash(text.encode("utf-8"))


COLUMNS = (
    "event_id",
    "tenant_id",
    "action",
    "actor_kind",
    "actor_id",
    "subject_kind",
    "subject_id",
)


def derived_columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that repeat parts of the record, so that it can be searched."""
    columns = dict(zip(COLUMNS, derived_texts(record), strict=True))
    return {**columns, "created_at": parse_time(record["created_at"])}


def derived_texts(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same in the order of COLUMNS, without the time: `verify_log` compares millions."""
    actor, subject = record["actor"], record["subject"]
    return (
        record["event_id"],
        record["tenant_id"],
        record["action"],
        actor["kind"],
        actor["id"],
        subject["kind"],
        subject["id"],
    )
