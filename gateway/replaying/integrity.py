"""Is the record what was written? Hashes, columns, order, and the values it commits to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.decision_record import TERMINAL
from audit.event_record import hashed_text, leaf_hash
from contextos.core.errors import ContextOSError
from gateway.replaying.findings import DiffType, Findings, ReplayStep
from gateway.replaying.recorded import KeptRow, KeptValue, RecordedDecision, Standing

_TAMPER = DiffType.TAMPER
# Said once of a decision and repeated in each of its rows.
_LASTING = (
    "decision_id",
    "tenant_id",
    "run_id",
    "trace_id",
    "session_id",
    "intent",
    "decision_key",
    "principal_chain",
    "capability",
    "policy_decision",
    "args_commitment",
    "idempotency",
    "plan",
    "tool_call_hash",
    "controls_active",
)


def check_rows(decision: RecordedDecision, findings: Findings) -> None:
    """Every contradiction between texts, hashes, columns and the order of the rows."""
    for at, row in enumerate(decision.rows):
        _check_row(row, f"/rows/{at}", findings)
    findings.stop_if_invalid()
    _check_order(decision, findings)
    for at, row in enumerate(decision.rows[1:], start=1):
        for name in _LASTING:
            if row.record[name] != decision.first[name]:
                findings.spoil(
                    _TAMPER,
                    f"/rows/{at}/{name}",
                    decision.first[name],
                    row.record[name],
                    f"The rows of the decision do not agree on {name}.",
                )
    findings.stop_if_invalid()
    findings.passed(ReplayStep.RECORD)


def _check_row(row: KeptRow, place: str, findings: Findings) -> None:
    if row.problem:
        findings.spoil(_TAMPER, place, "a decision record", None, row.problem)
        return
    written = _rewritten(row.record)
    if written != row.text:
        found = row.record.get("record_hash")
        message = "The text of the row is not what its record_hash was taken over."
        findings.spoil(_TAMPER, f"{place}/record_hash", _hash_in(written), found, message)
    if row.leaf_hash is not None and leaf_hash(row.text) != row.leaf_hash:
        message = "The leaf in the log is not that of this text."
        expected, found = row.leaf_hash.hex(), leaf_hash(row.text).hex()
        findings.spoil(_TAMPER, f"{place}/leaf_hash", expected, found, message)
    _check_columns(row, place, findings)


def _check_columns(row: KeptRow, place: str, findings: Findings) -> None:
    if row.columns is None:
        return
    for name, said in row.derived.items():
        if row.columns[name] != said:
            message = f"The column {name} does not say what the text says."
            found = str(row.columns[name])
            findings.spoil(_TAMPER, f"{place}/columns/{name}", str(said), found, message)


def _rewritten(record: Mapping[str, Any]) -> str:
    """The text that this record has; anything else was not written by us."""
    try:
        return hashed_text({name: v for name, v in record.items() if name != "record_hash"})
    except ContextOSError:
        return ""


def _hash_in(text: str) -> str | None:
    marked = text.rpartition('"record_hash":"')[2]
    return marked[:71] if marked else None


def _check_order(decision: RecordedDecision, findings: Findings) -> None:
    numbers = [row.record["seq"] for row in decision.rows]
    wanted = list(range(1, len(numbers) + 1))
    if numbers != wanted:
        message = "A row of the decision is missing, or stands there twice."
        findings.spoil(_TAMPER, "/rows", wanted, numbers, message)
    ended = [row.record["seq"] for row in decision.rows[:-1] if row.record["status"] in TERMINAL]
    if ended:
        message = "Rows follow the one that ended the decision."
        findings.spoil(_TAMPER, "/rows", len(numbers), ended[0], message)


def check_values(decision: RecordedDecision, findings: Findings) -> None:
    """Are the values still there, and the ones that the record commits to?"""
    for value in decision.values:
        _check_value(value, findings)
    wanted, args = decision.first["args_commitment"], decision.newest("args")
    if args is None:
        message = "No value is left for the commitment, and nothing says that it was erased."
        findings.spoil(_TAMPER, "/values/args", wanted, None, message)
    elif args.commitment != wanted:
        message = "The arguments that are kept are not those that the record commits to."
        findings.spoil(_TAMPER, "/values/args", wanted, args.commitment, message)
    decided = decision.first["policy_decision"] is not None
    if decided and decision.newest("inputs") is None:
        message = "What policy could read is not kept, and nothing says that it was erased."
        findings.spoil(_TAMPER, "/values/inputs", "kept", None, message)
    findings.stop_if_invalid()
    findings.passed(ReplayStep.VALUES)


def _check_value(value: KeptValue, findings: Findings) -> None:
    place = f"/values/{value.kind}"
    if value.standing is Standing.ERASED:
        message = f"The {value.kind} of the call were erased; only the commitment remains."
        findings.spoil(DiffType.ERASED, place, value.commitment, None, message)
    elif value.standing is Standing.TAMPERED:
        message = f"The stored {value.kind} are not what their commitment was made to."
        findings.spoil(_TAMPER, place, value.commitment, None, message)
    elif value.standing is Standing.WITHHELD:
        message = f"The packet does not carry the {value.kind}; only their commitment."
        findings.spoil(DiffType.ERASED, place, value.commitment, None, message)
