"""The duties of MISSION.md as data, bound to tests both ways (architecture/test_requirements).

A test marks what it proves with `@pytest.mark.proves("C11")`. `state` says how far a duty is built:
open = no test may claim it yet; partial = some of it works, the note says what is missing;
proved = the whole duty works and tests show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["open", "partial", "proved"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One duty, how far it is built, and what is missing while it is partial."""

    id: str
    duty: str
    state: State = "open"
    missing: str = ""


REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement("A1", "MCP over Streamable HTTP", "proved"),
    Requirement("A2", "MCP over stdio, consented and sandboxed"),
    Requirement("A3", "MCP bundles: hashed, pinned, consented"),
    Requirement("A4", "OpenAPI import of chosen operations"),
    Requirement("A5", "Function adapters", "proved"),
    Requirement("A6", "Custom connectors"),
    Requirement("A7", "Skills"),
    Requirement("A8", "A2A peers"),
    Requirement("A9", "External adapters by the Clasper contract"),
    Requirement(
        "B1",
        "The adapter manifest with every field",
        "partial",
        "read, linted, stored and served; some fields wait for their connectors",
    ),
    Requirement("B2", "Immutable, signed manifest versions with a lifecycle", "proved"),
    Requirement("B3", "Review with a risk diff; the author can't approve", "proved"),
    Requirement("B4", "Readiness checks as named findings", "proved"),
    Requirement("B5", "Discovery of a live server into a draft", "proved"),
    Requirement("B6", "Drift detection and quarantine"),
    Requirement("B7", "Schema registry, JSON Schema 2020-12", "proved"),
    Requirement(
        "B8",
        "Capabilities with their whole contract",
        "partial",
        "declared, reviewed and enforced on calls; claims and domain serve discovery later",
    ),
    Requirement("B9", "Scopes: initial and step-up, versioned, no wildcards", "proved"),
    Requirement("B10", "Context Packs decide what exists for a run", "proved"),
    Requirement(
        "B11",
        "Tool manifest compiled per run",
        "partial",
        "compiled and shown per run; skills and resources join it later",
    ),
    Requirement("B12", "Semantic discovery"),
    Requirement(
        "B13",
        "Skills in the registry",
        "partial",
        "conditions, expansion and the plan check exist; publication and golden sets come later",
    ),
    Requirement(
        "B14",
        "Resources with classification and access rules",
        "partial",
        "declared, linted, reviewed and shown; reading them comes with MCP in full",
    ),
    Requirement(
        "B15",
        "Prompts as reviewed artefacts",
        "partial",
        "declared, linted, reviewed and shown; reading them comes with MCP in full",
    ),
    Requirement(
        "B16",
        "Cached read-only aliases",
        "partial",
        "the plan check knows aliases; making and invalidating them comes with discovery",
    ),
    Requirement(
        "B17",
        "Version routing and rollback",
        "partial",
        "rollback is done; canary routing comes with the quality loop",
    ),
    Requirement(
        "B18",
        "Icons and descriptions are untrusted",
        "partial",
        "invisible characters are shown; icons come with the registry pages",
    ),
    Requirement("B19", "Kill switches effective on the next call", "proved"),
    Requirement("C1", "The eight steps in order", "proved"),
    Requirement("C2", "Call and result envelopes", "proved"),
    Requirement("C3", "Argument validation and constraints", "proved"),
    Requirement("C4", "Effective mode within the declared maximum", "proved"),
    Requirement("C5", "Propose, approve, execute", "proved"),
    Requirement("C6", "Ingress identity", "proved"),
    Requirement("C7", "Egress credentials", "proved"),
    Requirement("C8", "Signed metadata and trace propagation", "proved"),
    Requirement("C9", "Idempotency", "proved"),
    Requirement("C10", "Timeouts, rate and run budgets", "proved"),
    Requirement(
        "C11",
        "Egress rules",
        "partial",
        "MCP, webhooks and icons pass the door; OpenAPI and A2A connectors come later",
    ),
    Requirement("C12", "Retries, breaker, dead letters, loop guard", "proved"),
    Requirement("C13", "Error model", "proved"),
    Requirement("C14", "Long-running tasks", "proved"),
    Requirement("C15", "Elicitation"),
    Requirement("C16", "Sampling"),
    Requirement("C17", "Roots"),
    Requirement(
        "C18",
        "Resource reads become evidence",
        "partial",
        "results become evidence with class, freshness and size; resources are not read yet",
    ),
    Requirement("C19", "Plan check", "proved"),
    Requirement("C20", "Result check", "proved"),
    Requirement("C21", "Prompt-injection guardrails"),
    Requirement("C22", "Telemetry per call", "proved"),
    Requirement("D1", "Approval gates with their own queue", "proved"),
    Requirement("D2", "What is shown is what is bound", "proved"),
    Requirement("D3", "No self-approval; second factor at the click", "proved"),
    Requirement("D4", "Approve executes exactly once", "proved"),
    Requirement("D5", "Queue and votes by web, REST and notification", "proved"),
    Requirement("E1", "A DecisionRecord for every decision", "proved"),
    Requirement("E2", "Append-only, tamper-evident, verifiable offline", "proved"),
    Requirement("E3", "Reports and exports for auditors", "proved"),
    Requirement("E4", "Replay without touching a tool", "proved"),
    Requirement("E5", "Dashboards and their API", "proved"),
    Requirement("E6", "Retention, legal hold, erasure that keeps proofs", "proved"),
    Requirement("E7", "SIEM stream; threat model mapped to tests", "proved"),
    Requirement("F1", "Clasper: adapter tokens and registration"),
    Requirement("F2", "Clasper: execution requests"),
    Requirement("F3", "Clasper: tool authorisation"),
    Requirement("F4", "Clasper: decisions and single-use consumption"),
    Requirement("F5", "Clasper: telemetry ingest"),
    Requirement("F6", "Clasper: per-agent policies and budgets"),
    Requirement("G1", "The testing matrix runs against any adapter"),
    Requirement("G2", "Golden sets and promotion bars"),
    Requirement("G3", "Tuning proposals that never touch an invariant"),
)
BY_ID = {requirement.id: requirement for requirement in REQUIREMENTS}
