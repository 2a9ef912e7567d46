"""The five questions a production adapter must answer, answered from its manifest alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from contextos.adminkit.display import Tone
from contextos.core.modes import ApprovalMode
from contextos.core.text import single_line
from registry.manifest import Capability, Manifest, view
from registry.manifest.access import mapping, text, texts
from registry.models import Finding

# Which findings leave which question open.
_RULES: Mapping[str, tuple[str, ...]] = {
    "what": (
        "manifest.",
        "schema.",
        "naming.",
        "tool.",
        "owner.",
        "protocol_version.",
        "transport.",
        "stdio.",
        "server_capabilities.",
        "description.",
        "prompt.",
        "icon.",
    ),
    "risk": ("capability.", "approval_mode.", "gate.", "sampling."),
    "who": ("auth.", "resource.", "resource_template.", "elicitation."),
    "evidence": ("output_schema.", "evidence."),
    "replay": ("write.", "release.", "task."),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One question, whether it is answered, and the facts that answer it."""

    question: str
    verdict: str
    tone: Tone
    facts: tuple[str, ...]


def answers(document: Mapping[str, Any], findings: Iterable[Finding]) -> list[Answer]:
    """All five, in the order of the guide."""
    manifest = view(document)
    found = list(findings)
    return [
        _answer("What can it do?", "what", _what(manifest), found),
        _answer("How risky is each operation?", "risk", _risk(manifest), found),
        _answer("Who may invoke it?", "who", _who(manifest), found),
        _answer("What evidence does it return?", "evidence", _evidence(manifest), found),
        _answer("Can a call be replayed and audited?", "replay", _replay(manifest), found),
    ]


def _answer(question: str, key: str, facts: list[str], findings: list[Finding]) -> Answer:
    mine = [f.severity for f in findings if f.rule.startswith(_RULES[key])]
    if "block" in mine:
        return Answer(question, f"open: {mine.count('block')} blocking", "danger", tuple(facts))
    if "warn" in mine:
        return Answer(question, f"{mine.count('warn')} to tick", "warning", tuple(facts))
    return Answer(question, "answered", "success", tuple(facts))


def _what(manifest: Manifest) -> list[str]:
    document = manifest.document
    counts = [
        _count(len(manifest.capabilities), "capability", "capabilities"),
        _count(len(list(manifest.parts("resources"))), "resource", "resources"),
        _count(len(list(manifest.parts("prompts"))), "prompt", "prompts"),
    ]
    reach = single_line(text(manifest.transport, "endpoint_ref"), limit=120)
    return [
        ", ".join(counts),
        f"Protocol {_said(manifest.protocol)} {_said(text(document, 'protocol_version'))} "
        f"over {_said(manifest.transport_kind)}" + (f" at {reach}" if reach else ""),
        f"Owner: {_said(manifest.owner_role)}",
    ]


def _risk(manifest: Manifest) -> list[str]:
    modes = Counter(c.approval_mode.value for c in manifest.capabilities if c.approval_mode)
    listed = [
        f"{modes[m.value]} {m.value.replace('_', ' ')}" for m in ApprovalMode if modes[m.value]
    ]
    gates = sorted({text(c.raw, "requires_approval_gate") for c in manifest.capabilities} - {""})
    shown = ", ".join(single_line(gate, limit=60) for gate in gates)
    return [", ".join(listed) or "No mode declared", f"Gates: {shown or 'none'}"]


def _who(manifest: Manifest) -> list[str]:
    auth = manifest.auth
    initial = ", ".join(single_line(s, limit=60) for s in texts(auth, "initial_scopes")[:8])
    steps = mapping(auth, "step_up_scopes")
    return [
        f"Auth: {_said(manifest.auth_type)}, audience {_said(text(auth, 'token_audience'))}",
        f"Initial scopes: {initial or 'none'}",
        f"Step-up scopes for {_count(len(steps), 'capability', 'capabilities')}",
    ]


def _evidence(manifest: Manifest) -> list[str]:
    total = len(manifest.capabilities)
    typed = sum(1 for c in manifest.capabilities if c.schema_ref("output"))
    cited = sum(1 for c in manifest.capabilities if texts(c.raw, "evidence_keys"))
    return [f"{typed} of {total} have an output schema", f"{cited} of {total} name evidence keys"]


def _replay(manifest: Manifest) -> list[str]:
    writes = list(manifest.writes())
    keyed = sum(1 for c in writes if _is_keyed(c))
    trace = text(mapping(manifest.document, "observability"), "trace_context")
    return [
        f"{keyed} of {_count(len(writes), 'write', 'writes')} require an idempotency key",
        f"Trace context: {_said(trace)}",
        "Every version is pinned by its digest; a published one is signed.",
    ]


def _is_keyed(capability: Capability) -> bool:
    return mapping(capability.raw, "idempotency").get("required") is True


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _said(value: str) -> str:
    return single_line(value, limit=80) or "not said"
