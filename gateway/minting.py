"""Mints evidence from a result: a reference, its source, hash, class, freshness and size (C18)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from audit.clearance import Clearance, class_of
from audit.one_statement import Insert, Json
from audit.payloads import SealedPayload, commit_only, seal_payload
from contextos.core.clock import utcnow
from contextos.core.ids import new_id
from gateway.attempts import Attempt
from gateway.evidence import mark_of
from gateway.models import Evidence

DEFAULT_CLASS = Clearance.INTERNAL
LONGEST_FRESH = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True)
class Minted:
    """One new evidence reference and the rows that make it."""

    ref: str
    writes: tuple[Insert, ...]


def mint(attempt: Attempt, values: Mapping[str, Any]) -> Minted:
    """One reference over the declared keys that a result really carries."""
    call, ref, moment = attempt.call, new_id("ev"), utcnow()
    classification = _classification(attempt.declaration)
    is_stored = _is_stored(attempt.declaration, classification)
    sealed = _sealed(attempt, values, is_stored=is_stored)
    fresh = attempt.declaration.get("evidence_fresh_seconds")
    row = {
        "evidence_ref": ref,
        "tenant_id": call.tenant_id,
        "run_id": call.run_id,
        "tool_call_id": call.tool_call_id,
        "capability_id": call.capability_id,
        "source": f"{call.adapter_id}@{call.adapter_version}",
        "keys": Json(list(values)),
        "commitment": sealed.commitment,
        "payload_id": sealed.payload_id,
        "classification": classification.value,
        "observed_at": moment,
        "size_bytes": sealed.size_bytes,
        "is_stored": is_stored,
        "fresh_until": _until(moment, fresh),
        "mark": "" if attempt.gone else mark_of(call.tenant_id, call.capability_id, attempt.args),
    }
    table = Evidence._meta.db_table
    minted = Insert(name="evidence", table=table, values=row, after="call")
    return Minted(ref, (minted, sealed.write))


def _classification(declaration: Mapping[str, Any]) -> Clearance:
    """As the reviewed manifest says; a word nobody knows is taken for the most confidential."""
    stated = declaration.get("evidence_classification")
    return DEFAULT_CLASS if stated is None else class_of(str(stated))


def _is_stored(declaration: Mapping[str, Any], classification: Clearance) -> bool:
    """Restricted values are only committed to, and whatever the manifest wants so."""
    stated = declaration.get("evidence_storage")
    return stated != "committed" and classification is not Clearance.RESTRICTED


def _sealed(attempt: Attempt, values: Mapping[str, Any], *, is_stored: bool) -> SealedPayload:
    make = seal_payload if is_stored else commit_only
    return make(
        tenant_id=attempt.call.tenant_id,
        decision_id=attempt.call.decision_id,
        kind="evidence",
        value=dict(values),
        after="call",
    )


def _until(moment: Any, seconds: Any) -> Any:
    if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 0:
        return None
    return moment + timedelta(seconds=min(seconds, LONGEST_FRESH))
