"""Reads recorded decisions, a page at a time and in a fixed number of statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from approvals.gates import read_terms
from approvals.models import ApprovalRequest, GateVersion
from audit.decision_record import derived_columns
from audit.models import DecisionRow, Payload
from audit.payloads import SALT_BYTES, opened_parts
from audit.record_texts import texts_of
from contextos.core.errors import ContextOSError, coded_error
from gateway.gating import SUBJECT_KIND
from gateway.models import Evidence, IdempotencyKey, Run, ToolCall
from gateway.replaying.recorded import (
    KeptApproval,
    KeptEvidence,
    KeptRow,
    KeptValue,
    RecordedDecision,
    Standing,
)

KINDS = ("args", "inputs", "output", "transcript", "evidence", "terms", "answer")
_COLUMNS = tuple(
    field.name
    for field in DecisionRow._meta.concrete_fields
    if field.name not in ("record_id", "leaf_hash")
)


def recorded_decision(*, tenant_id: str, decision_id: str) -> RecordedDecision:
    """All that is kept of one decision; `replay.unknown_decision` where there is none."""
    for found in recorded_decisions(tenant_id=tenant_id, decision_ids=[decision_id]):
        return found
    raise coded_error("replay.unknown_decision")


def recorded_decisions(
    *, tenant_id: str, decision_ids: Sequence[str]
) -> Iterable[RecordedDecision]:
    """The same for a page of decisions, in the order they are named."""
    rows = _rows(tenant_id, decision_ids)
    page = _Page.of(tenant_id, rows)
    return [page.decision(name) for name in decision_ids if name in rows]


# --- rows ----------------------------------------------------------------------------------------
def _rows(tenant_id: str, decision_ids: Sequence[str]) -> dict[str, tuple[KeptRow, ...]]:
    found = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id__in=list(decision_ids))
    heads = sorted(found, key=lambda head: (head.decision_id, head.seq))
    texts = texts_of(heads)
    rows: dict[str, list[KeptRow]] = {}
    for head in heads:
        rows.setdefault(head.decision_id, []).append(_row(head, texts.get(head.record_id)))
    return {name: tuple(listed) for name, listed in rows.items()}


def _row(head: DecisionRow, text: str | None) -> KeptRow:
    columns = {name: getattr(head, name) for name in _COLUMNS}
    beside: dict[str, Any] = {"leaf_hash": bytes(head.leaf_hash), "columns": columns}
    if text is None:
        return KeptRow("", {}, **beside, problem="The text of the row is gone.")
    return read_row(text, **beside)


def read_row(text: str, **beside: Any) -> KeptRow:
    """What a text says, or why it is not a decision record.

    The fast reader is lenient; integrity.check_rows holds what it read against the text.
    """
    try:
        record: dict[str, Any] = orjson.loads(text)
        return KeptRow(text, record, **beside, derived=derived_columns(record))
    except (KeyError, TypeError, ValueError, AttributeError, ContextOSError):
        return KeptRow(text, {}, **beside, problem="The text is not a decision record.")


# --- all that belongs to them --------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Page:
    """Some decisions with all that belongs to them."""

    tenant_id: str
    rows: Mapping[str, tuple[KeptRow, ...]]
    values: Mapping[str, tuple[KeptValue, ...]]
    calls: Mapping[str, ToolCall]
    runs: Mapping[str, Run]
    approvals: Mapping[str, KeptApproval]  # by tool call id
    evidence: Mapping[str, tuple[KeptEvidence, ...]]  # by tool call id
    salts: Mapping[str, bytes]

    @classmethod
    def of(cls, tenant_id: str, rows: Mapping[str, tuple[KeptRow, ...]]) -> _Page:
        records = [row.record for listed in rows.values() for row in listed if row.record]
        found = ToolCall.objects.filter(tenant_id=tenant_id, decision_id__in=list(rows))
        calls = {call.decision_id: call for call in found}
        names = {str(record["run_id"]) for record in records if record["run_id"]}
        return cls(
            tenant_id=tenant_id,
            rows=rows,
            values=_values(tenant_id, rows),
            calls=calls,
            runs=Run.objects.filter(tenant_id=tenant_id).in_bulk(list(names)),
            approvals=_approvals(tenant_id, [call.pk for call in calls.values()]),
            evidence=_evidence(tenant_id, records),
            salts=_salts(tenant_id, records),
        )

    def decision(self, decision_id: str) -> RecordedDecision:
        rows, call = self.rows[decision_id], self.calls.get(decision_id)
        first = rows[0].record
        key = (first.get("idempotency") or {}).get("key_hash")
        return RecordedDecision(
            tenant_id=self.tenant_id,
            decision_id=decision_id,
            rows=rows,
            values=self.values.get(decision_id, ()),
            call=call,
            run=self.runs.get(str(first.get("run_id"))),
            approval=self.approvals.get(call.pk) if call else None,
            evidence=self.evidence.get(call.pk, ()) if call else (),
            salt_of_key=self.salts.get(str(key)),
        )


def _values(
    tenant_id: str, rows: Mapping[str, tuple[KeptRow, ...]]
) -> dict[str, tuple[KeptValue, ...]]:
    found = _values_of(tenant_id, list(rows))
    missing = {
        name: str(listed[0].record["args_commitment"])
        for name, listed in rows.items()
        if name not in found and listed[0].record.get("args_commitment")
    }
    return {**found, **_counted_values(tenant_id, missing)} if missing else found


def _values_of(tenant_id: str, names: Sequence[str]) -> dict[str, tuple[KeptValue, ...]]:
    stored = Payload.objects.filter(
        tenant_id=tenant_id, decision_id__in=list(names), kind__in=KINDS
    )
    found: dict[str, list[KeptValue]] = {}
    for row in sorted(stored, key=lambda row: row.payload_id):
        found.setdefault(row.decision_id, []).append(kept_value(row))
    return {name: tuple(listed) for name, listed in found.items()}


def _counted_values(tenant_id: str, missing: Mapping[str, str]) -> dict[str, tuple[KeptValue, ...]]:
    """A row that counts repeats commits to the values of the first refusal."""
    origins = dict(
        Payload.objects.filter(
            tenant_id=tenant_id, commitment__in=set(missing.values()), kind="args"
        ).values_list("commitment", "decision_id")
    )
    values = _values_of(tenant_id, list(origins.values()))
    return {
        name: values.get(origins[commitment], ())
        for name, commitment in missing.items()
        if commitment in origins
    }


def kept_value(row: Payload) -> KeptValue:
    """A stored value, opened and checked against its commitment."""
    how: dict[str, Any] = {"standing": Standing.ERASED}
    if row.sealed is not None:
        try:
            salt, value = opened_parts(row)
            how = {"standing": Standing.KEPT, "value": value, "salt": salt[:SALT_BYTES]}
        except ContextOSError:
            how = {"standing": Standing.TAMPERED}
    return KeptValue(row.payload_id, row.kind, row.commitment, **how)


def _approvals(tenant_id: str, call_ids: list[str]) -> dict[str, KeptApproval]:
    requests = list(
        ApprovalRequest.objects.filter(
            tenant_id=tenant_id, subject_kind=SUBJECT_KIND, subject_id__in=call_ids
        )
    )
    if not requests:
        return {}
    names = {request.gate_version_id for request in requests}
    gates = GateVersion.objects.filter(tenant_id=tenant_id).in_bulk(list(names))
    return {request.subject_id: _approval(request, gates) for request in requests}


def _approval(request: ApprovalRequest, gates: Mapping[str, GateVersion]) -> KeptApproval:
    gate = gates.get(request.gate_version_id)
    return KeptApproval(
        approval_id=request.pk,
        gate_id=request.gate_id,
        gate_version=request.gate_version,
        gate_digest=gate.digest if gate else None,
        digest=request.digest,
        state=str(request.state),
        needed=read_terms(request.terms).quorum,
    )


def _evidence(
    tenant_id: str, records: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[KeptEvidence, ...]]:
    names = {ref for record in records for ref in record["evidence_refs"]}
    if not names:
        return {}
    rows = Evidence.objects.filter(tenant_id=tenant_id, evidence_ref__in=names)
    found: dict[str, tuple[KeptEvidence, ...]] = {}
    for row in rows.order_by("evidence_ref"):
        kept = KeptEvidence(row.evidence_ref, tuple(row.keys), row.commitment)
        found[row.tool_call_id] = (*found.get(row.tool_call_id, ()), kept)
    return found


def _salts(tenant_id: str, records: Iterable[Mapping[str, Any]]) -> dict[str, bytes]:
    names = {
        str(record["idempotency"]["key_hash"]) for record in records if record.get("idempotency")
    }
    if not names:
        return {}
    rows = IdempotencyKey.objects.filter(tenant_id=tenant_id, scope_hash__in=names)
    return {name: bytes(salt) for name, salt in rows.values_list("scope_hash", "salt")}
