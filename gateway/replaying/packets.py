"""The ReplayPacket: what a decision is replayed from, what is expected, what came out last."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from contextos.core import strict_json
from contextos.core.canonical import digest
from gateway.replaying.findings import ReplayResult
from gateway.replaying.recorded import RecordedDecision
from gateway.replaying.surroundings import terms_of
from registry.validation import Validator, compile_schema

SCHEMA_FILE = Path(__file__).resolve().parent.parent / "schemas/replay-packet.v1.schema.json"
# What the far side and people brought into a call, in the order it came.
_TRANSCRIPT = ("answer", "output", "transcript")


def packet_of(decision: RecordedDecision, result: ReplayResult) -> dict[str, Any]:
    """The packet of one decision with the result of its last replay."""
    first, last = decision.first, decision.last
    packet = {
        "replay_packet_id": packet_id_of(decision.decision_id),
        "trace_id": first.get("trace_id"),
        "source_kind": "decision_record",
        "source_ref": decision.decision_id,
        "context_pack_ref": (first.get("lineage") or {}).get("pack_ref"),
        "compiled_context_hash": compiled_context_hash(decision),
        "tool_transcript_chain_hash": transcript_chain_hash(decision),
        "side_effect_policy": "transcript_only",
        "expected": {
            "status": last.get("status"),
            "decision_record_hash": last.get("record_hash"),
        },
        "latest_result": result.as_dict(),
    }
    return checked(packet)


def packet_id_of(decision_id: str) -> str:
    """One packet per decision, so that its name follows from the decision's."""
    return f"rpl_{decision_id.partition('_')[2]}"


def compiled_context_hash(decision: RecordedDecision) -> str | None:
    """Over everything that a run and its tenant set before the call was made."""
    if not decision.first:
        return None
    terms = terms_of(decision)
    if terms is None:
        return None
    lineage = decision.first["lineage"]
    return digest(
        {
            "environment": terms.environment,
            "intent": terms.intent,
            "role": terms.role,
            "packs": list(terms.packs),
            "pack_hash": lineage["pack_hash"],
            "pins": dict(terms.pins),
            "manifest_hash": lineage["manifest_hash"],
            "policy_bundles": list(terms.bundles) if terms.bundles is not None else None,
        }
    )


def transcript_chain_hash(decision: RecordedDecision) -> str | None:
    """Each link over the one before and a commitment: it stays when the values are erased."""
    link: str | None = None
    for value in decision.values:
        if value.kind in _TRANSCRIPT:
            link = digest({"before": link, "kind": value.kind, "commitment": value.commitment})
    return link


@cache
def packet_validator() -> Validator:
    """The published schema, compiled."""
    return compile_schema(strict_json.loads(SCHEMA_FILE.read_bytes()), imported=False)


def checked(packet: dict[str, Any]) -> dict[str, Any]:
    """The packet, if it is what we publish; anything else is a fault of ours."""
    problems = packet_validator().errors(packet)
    if problems:
        raise ValueError(f"replay packet: {problems[0].pointer} {problems[0].message}")
    return packet
