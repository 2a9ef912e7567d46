"""Packet files: all that a replay needs, to be carried elsewhere and replayed there (E4)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from audit.payloads import commitment_to
from contextos.core import strict_json
from contextos.core.canonical import canonicalise, digest_bytes
from contextos.core.errors import ContextOSError, coded_error
from gateway.models import Run, ToolCall
from gateway.replaying.engine import replay_decision
from gateway.replaying.findings import DiffType, Findings, ReplayResult, ReplayStatus
from gateway.replaying.loading import read_row
from gateway.replaying.packets import checked, packet_of, packet_validator
from gateway.replaying.recorded import (
    KeptApproval,
    KeptEvidence,
    KeptValue,
    RecordedDecision,
    Standing,
)
from gateway.replaying.surroundings import RecordedTerms, Surroundings, terms_of
from registry.recorded_documents import RecordedDocuments, missing

LARGEST = 64 * 1024 * 1024
MAX_DEPTH = strict_json.MAX_DEPTH + 24
_CALL = (
    "tool_call_id",
    "run_id",
    "capability_id",
    "adapter_id",
    "adapter_version",
    "version_id",
    "is_write",
    "attempts",
    "reserved_cents",
    "task",
    "cancel_reason",
    "envelope",
    "result",
)
_UNSIGNED = "A packet names its documents by digest; who signed them was not checked here."


# --- out -----------------------------------------------------------------------------------------
def packet_file(
    decision: RecordedDecision,
    result: ReplayResult,
    documents: RecordedDocuments,
    *,
    with_values: bool,
) -> dict[str, Any]:
    """The packet and what it rests on; without values only their commitments go along."""
    return checked(
        {
            **packet_of(decision, result),
            "recorded": {
                "tenant_id": decision.tenant_id,
                "rows": [row.text for row in decision.rows],
                "values": [_value(value, with_values) for value in decision.values],
                "call": _call(decision.call) if with_values and decision.call else None,
                "run": _run(decision.run),
                "approval": _approval(decision.approval),
                "evidence": [
                    {"ref": item.evidence_ref, "keys": list(item.keys), "at": item.commitment}
                    for item in decision.evidence
                ],
                "key_salt": _spelled(decision.salt_of_key) if with_values else None,
                **_documents(terms_of(decision), documents),
            },
        }
    )


def _value(value: KeptValue, with_values: bool) -> dict[str, Any]:
    shown = with_values and value.standing is Standing.KEPT
    standing = value.standing
    if standing is Standing.KEPT and not shown:
        standing = Standing.WITHHELD
    return {
        "payload_id": value.payload_id,
        "kind": value.kind,
        "commitment": value.commitment,
        "standing": standing.value,
        "salt": _spelled(value.salt) if shown else None,
        "value": value.value if shown else None,
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in _CALL}


def _run(run: Run | None) -> dict[str, Any] | None:
    if run is None:
        return None
    return {
        "run_id": run.run_id,
        "intent": run.intent,
        "environment": run.environment,
        "role": run.document["agent"]["role"],
        "packs": list(run.packs),
        "pins": dict(run.pins),
    }


def _approval(kept: KeptApproval | None) -> dict[str, Any] | None:
    if kept is None:
        return None
    return {
        "approval_id": kept.approval_id,
        "gate_id": kept.gate_id,
        "gate_version": kept.gate_version,
        "gate_digest": kept.gate_digest,
        "digest": kept.digest,
        "state": kept.state,
        "needed": kept.needed,
    }


def _documents(terms: RecordedTerms | None, documents: RecordedDocuments) -> dict[str, Any]:
    if terms is None:
        return {"documents": [], "packs": {}, "pins": {}}
    packs = {ref: documents.digest_of_pack(ref) for ref in terms.packs}
    pins = {
        adapter_id: documents.digest_of_pin(adapter_id, version, terms.environment)
        for adapter_id, version in terms.pins
    }
    wanted = {*packs.values(), *pins.values(), *(terms.bundles or ())}
    wanted |= {terms.manifest[1]} if terms.manifest else set()
    found = [_document(name, documents) for name in sorted(name for name in wanted if name)]
    return {"documents": [item for item in found if item], "packs": packs, "pins": pins}


def _document(digest: str, documents: RecordedDocuments) -> dict[str, Any] | None:
    try:
        return {"digest": digest, "text": documents.library.content(digest).decode()}
    except ContextOSError:
        return None  # gone or tampered with: the replay of the packet says so, too


# --- in ------------------------------------------------------------------------------------------
def replay_packet(content: bytes) -> dict[str, Any]:
    """Read a packet file, check it, replay it; the packet with what came out."""
    packet = _read(content)
    try:
        decision = _decision(packet["recorded"])
    except (KeyError, TypeError, ValueError) as fault:
        message = f"What it carries can't be put together: {type(fault).__name__}."
        raise coded_error("replay.packet_unreadable", message=message) from fault
    library = _Packet.of(packet["recorded"])
    documents = RecordedDocuments(decision.tenant_id, library)
    result = _checked(packet, decision, replay_decision(decision, Surroundings(documents)))
    outside = {name: value for name, value in packet.items() if name != "recorded"}
    return checked({**outside, "latest_result": result.as_dict()})


def _read(content: bytes) -> dict[str, Any]:
    try:
        packet: Any = strict_json.loads_object(content, max_bytes=LARGEST, max_depth=MAX_DEPTH)
    except ContextOSError as fault:
        raise coded_error("replay.packet_unreadable", message=fault.message) from None
    problems = packet_validator().errors(packet)
    if problems:
        message = f"At {problems[0].pointer or 'the top'}: {problems[0].message}"
        raise coded_error("replay.packet_unreadable", message=message)
    if "recorded" not in packet:
        message = "The packet says what came out, and carries nothing to replay."
        raise coded_error("replay.packet_unreadable", message=message)
    return dict(packet)


def _decision(kept: Mapping[str, Any]) -> RecordedDecision:
    rows = tuple(read_row(text) for text in kept["rows"])
    approval, call, run = kept["approval"], kept["call"], kept["run"]
    names = {
        "tenant_id": kept["tenant_id"],
        "decision_id": str(rows[0].record.get("decision_id", "")),
    }
    return RecordedDecision(
        **names,
        rows=rows,
        values=tuple(_kept(value) for value in kept["values"]),
        call=ToolCall(**call, **names) if call else None,
        run=_unsaved(run, kept["tenant_id"]) if run else None,
        approval=KeptApproval(**approval) if approval else None,
        evidence=tuple(
            KeptEvidence(item["ref"], tuple(item["keys"]), item["at"]) for item in kept["evidence"]
        ),
        salt_of_key=_bytes(kept["key_salt"]) if kept["key_salt"] else None,
    )


def _unsaved(run: Mapping[str, Any], tenant_id: str) -> Run:
    members = {name: value for name, value in run.items() if name != "role"}
    document = {"agent": {"role": run["role"]}}
    return Run(**members, tenant_id=tenant_id, document=document)


def _kept(value: Mapping[str, Any]) -> KeptValue:
    """A value that is not what its commitment was made to is tampered with, whoever did it."""
    standing = Standing(value["standing"])
    salt = _bytes(value["salt"] or "")
    if standing is Standing.KEPT and _commitment(salt, value["value"]) != value["commitment"]:
        standing = Standing.TAMPERED
    return KeptValue(
        value["payload_id"], value["kind"], value["commitment"], standing, value["value"], salt
    )


def _commitment(salt: bytes, value: Any) -> str:
    try:
        return commitment_to(salt, canonicalise(value))
    except ContextOSError:
        return ""


def _checked(
    packet: Mapping[str, Any], decision: RecordedDecision, result: ReplayResult
) -> ReplayResult:
    """The result, with what the packet says about itself held against what it carries."""
    found = Findings()
    mine = _described(decision, result)
    for name in mine:
        if name != "latest_result" and packet[name] != mine[name]:
            message = f"The packet's {name} is not that of what it carries."
            found.spoil(DiffType.TAMPER, f"/{name}", packet[name], mine[name], message)
    taken = (*result.taken, _UNSIGNED)
    status = ReplayStatus.INVALID if found.invalid else result.status
    return replace(result, status=status, diffs=(*found.diffs, *result.diffs), taken=taken)


def _described(decision: RecordedDecision, result: ReplayResult) -> dict[str, Any]:
    """What a packet of this decision says; nothing where the rows can't even be read."""
    try:
        return packet_of(decision, result)
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


@dataclass(frozen=True, slots=True)
class _Packet:
    """The documents of a packet file; nothing is looked for elsewhere."""

    texts: Mapping[str, str]
    packs: Mapping[str, str | None]
    pins: Mapping[str, str | None]
    version_id: str = field(default="")

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> _Packet:
        texts = {item["digest"]: item["text"] for item in kept["documents"]}
        return cls(texts, kept["packs"], kept["pins"], (kept["call"] or {}).get("version_id", ""))

    def content(self, digest: str) -> bytes:
        """From the packet, checked."""
        if digest not in self.texts:
            raise missing(digest)
        content = self.texts[digest].encode()
        if digest_bytes(content) != digest:
            raise coded_error("artefact.tampered", data={"digest": digest})
        return content

    def manifest_row(self, digest: str) -> tuple[str, str]:
        """The version the call names; there is no signature to ask for."""
        return self.version_id, ""

    def flaw(self, kind: type[Any], digest: str) -> str:
        """There is no signature to ask for."""
        return ""

    def digest_of_pack(self, ref: str) -> str | None:
        """As the packet says; what it leads to is checked."""
        return self.packs.get(ref)

    def digest_of_pin(self, adapter_id: str, version: str, environment: str) -> str | None:
        """As the packet says; what it leads to is checked."""
        return self.pins.get(adapter_id)


def _spelled(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
