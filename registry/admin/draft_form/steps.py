"""The twelve steps in the order of the adapter guide, and the fields of each."""

from __future__ import annotations

from dataclasses import dataclass

from contextos.core.modes import ApprovalMode, CapabilityClass
from registry.admin.draft_form.fields import YES_NO_CHOICES, Choices, FieldSpec, Kind


def _choices(*names: str) -> Choices:
    return tuple((name, name.replace("_", " ")) for name in names)


def _spec(path: str, label: str, help_text: str = "", **more: object) -> FieldSpec:
    return FieldSpec(tuple(path.split("/")), label, help_text, **more)  # type: ignore[arg-type]


CLASS_CHOICES: Choices = (
    (CapabilityClass.OBSERVE.value, "observe: looks at the state of another system"),
    (CapabilityClass.RECALL.value, "recall: reads memory or knowledge"),
    (CapabilityClass.VERIFY.value, "verify: checks a fact or an identity"),
    (CapabilityClass.THINK_SUPPORT.value, "think support: transforms, without outside effect"),
    (CapabilityClass.ACT.value, "act: changes something"),
)
MODE_CHOICES: Choices = (
    (ApprovalMode.READ_ONLY.value, "read only: changes nothing"),
    (ApprovalMode.LOCAL_WRITE.value, "local write: changes only what is ours"),
    (ApprovalMode.NETWORK.value, "network: reaches outside"),
    (ApprovalMode.DELEGATED.value, "delegated: acts in a person's name"),
    (ApprovalMode.DESTRUCTIVE.value, "destructive: hard or impossible to undo"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of the guide."""

    number: int
    key: str
    title: str
    question: str
    adapter_fields: tuple[FieldSpec, ...] = ()
    capability_fields: tuple[FieldSpec, ...] = ()


STEPS: tuple[Step, ...] = (
    Step(
        1,
        "name",
        "Name the capability",
        "Which job does it do for people, and who answers for it?",
        (
            _spec(
                "adapter_id",
                "Adapter id",
                "Stays the same over all versions.",
                placeholder="adp_payments",
            ),
            _spec("name", "Name", placeholder="Payments"),
            _spec(
                "owner_role",
                "Owner role",
                "The team that answers for it.",
                placeholder="payments_platform",
            ),
            _spec(
                "environment",
                "Environment",
                "Plain http and private addresses pass only in development and workstation.",
                kind=Kind.CHOICE,
                choices=_choices("production", "staging", "development", "workstation"),
            ),
            _spec(
                "version", "Version", "Left empty, the next number is given.", placeholder="1.0.0"
            ),
        ),
        (
            _spec(
                "capability_id",
                "Capability id",
                "Domain, dot, operation.",
                placeholder="payments.issue_refund",
            ),
            _spec(
                "description",
                "Description",
                "Read by people and models; what it does, not what the model should do.",
                kind=Kind.LONG_TEXT,
            ),
            _spec("owner_role", "Owner role", "Only if another team than above."),
            _spec("domain", "Domain", placeholder="payments"),
            _spec("intents", "Intents", "One per line.", kind=Kind.LINES),
        ),
    ),
    Step(
        2,
        "class",
        "Classify it",
        "Does it observe, recall, verify, support thinking, or act?",
        (),
        (_spec("capability_class", "Class", kind=Kind.CHOICE, choices=CLASS_CHOICES),),
    ),
    Step(
        3,
        "mode",
        "Declare the highest mode",
        "What is the worst that one call can do? Policy may lower it, nothing raises it.",
        (),
        (_spec("approval_mode", "Highest mode", kind=Kind.CHOICE, choices=MODE_CHOICES),),
    ),
    Step(
        4,
        "transport",
        "Pick protocol and transport",
        "How is it reached, and what keeps that path safe?",
        (
            _spec(
                "protocol",
                "Protocol",
                kind=Kind.CHOICE,
                choices=_choices("mcp", "openapi", "function", "a2a", "custom"),
            ),
            _spec("protocol_version", "Protocol version", placeholder="2025-11-25"),
            _spec(
                "protocol_version_reason",
                "Why an older version",
                "Only when it is not the current one.",
            ),
            _spec(
                "transport/kind",
                "Transport",
                kind=Kind.CHOICE,
                choices=_choices(
                    "streamable_http",
                    "stdio",
                    "mcpb",
                    "https",
                    "function",
                    "a2a_jsonrpc",
                    "a2a_http_json",
                    "custom",
                ),
            ),
            _spec("transport/endpoint_ref", "Endpoint", placeholder="https://payments.example/mcp"),
            _spec(
                "transport/origin_allowlist", "Allowed origins", "One per line.", kind=Kind.LINES
            ),
            _spec("transport/timeout_seconds", "Timeout in seconds", kind=Kind.NUMBER),
            _spec("transport/session_binding", "Session bound to", placeholder="user"),
            _spec(
                "transport/command",
                "Command",
                "stdio and mcpb only: program and arguments, one per line.",
                kind=Kind.LINES,
            ),
            _spec(
                "transport/command_disclosed",
                "Command shown before install",
                kind=Kind.YES_NO,
                choices=YES_NO_CHOICES,
            ),
            _spec(
                "transport/install_consent",
                "Install consent",
                'stdio and mcpb only: {"required": true, "shown_to": "user"}',
                kind=Kind.JSON,
            ),
            _spec(
                "transport/sandbox",
                "Sandbox",
                "Paths and network the process may use: "
                '{"filesystem": ["/srv/payments"], "network": "none"}',
                kind=Kind.JSON,
            ),
            _spec(
                "transport/spec_digest",
                "Digest of the API description",
                "OpenAPI only; a changed description is noticed.",
                placeholder="sha256:…",
            ),
            _spec("transport/agent_card_ref", "Agent card", "A2A only: its address."),
            _spec(
                "transport/agent_card_digest",
                "Digest of the agent card",
                "A2A only.",
                placeholder="sha256:…",
            ),
            _spec(
                "server_capabilities",
                "Server capabilities",
                'MCP only: as the server declares them, such as {"tools": {"listChanged": true}}',
                kind=Kind.JSON,
            ),
        ),
        (
            _spec("mcp_tool_name", "MCP tool name", placeholder="payments_issue_refund"),
            _spec("function_name", "Function name", "Function adapters."),
            _spec("openapi_operation_id", "Operation id", "OpenAPI adapters."),
            _spec("a2a_skill_id", "Skill id", "A2A adapters."),
            _spec("timeout_seconds", "Timeout in seconds", kind=Kind.NUMBER),
            _spec(
                "execution",
                "Execution",
                '{"mode": "call"}, or for long work {"mode": "task", "cancellable": true, '
                '"poll_interval_seconds": 5, "ttl_seconds": 3600, "policy_refs": ["POLICY_…"]}',
                kind=Kind.JSON,
            ),
        ),
    ),
    Step(
        5,
        "schemas",
        "Design schemas",
        "What exactly goes in and comes out? No write takes a free-form payload.",
        (
            _spec(
                "schema_dialect_notes", "Why an older dialect", "Only if not JSON Schema 2020-12."
            ),
        ),
        (
            _spec(
                "input_schema_ref",
                "Input schema",
                "The name of a schema below.",
                placeholder="schema://payments.issue_refund.input.v1",
            ),
            _spec(
                "output_schema_ref",
                "Output schema",
                placeholder="schema://payments.issue_refund.output.v1",
            ),
        ),
    ),
    Step(
        6,
        "auth",
        "Define auth",
        "Whose credentials, with which scopes, for whom?",
        (
            _spec(
                "auth/type",
                "Type",
                kind=Kind.CHOICE,
                choices=_choices("oauth2", "oidc", "mtls", "api_key", "workload_identity", "none"),
            ),
            _spec("auth/reason", "Why none", "Only for type none."),
            _spec("auth/resource", "Resource", "What tokens are asked for (RFC 8707)."),
            _spec("auth/token_audience", "Token audience"),
            _spec(
                "auth/initial_scopes",
                "Initial scopes",
                "Reading and discovery only, one per line.",
                kind=Kind.LINES,
            ),
            _spec(
                "auth/step_up_scopes",
                "Step-up scopes",
                "Capability id to list of scopes: "
                '{"payments.issue_refund": ["payments.refund.write"]}',
                kind=Kind.JSON,
            ),
            _spec(
                "auth/allow_token_passthrough",
                "Pass the caller's token on",
                "Must be no.",
                kind=Kind.YES_NO,
                choices=YES_NO_CHOICES,
            ),
        ),
        (
            _spec("required_claims", "Required claims", "One per line.", kind=Kind.LINES),
            _spec("tenants", "Only for tenants", "One per line; empty = all.", kind=Kind.LINES),
        ),
    ),
    Step(
        7,
        "idempotency",
        "Add idempotency",
        "What happens when the same call arrives twice? Every write needs a key.",
        (),
        (
            _spec(
                "idempotency/required",
                "Key required",
                kind=Kind.YES_NO,
                choices=YES_NO_CHOICES,
            ),
            _spec("idempotency/dedup_window_seconds", "Window in seconds", kind=Kind.NUMBER),
            _spec(
                "idempotency/adapter_dedup",
                "The adapter deduplicates too",
                kind=Kind.YES_NO,
                choices=YES_NO_CHOICES,
            ),
            _spec(
                "idempotency/status_capability",
                "Capability that says whether it happened",
                "Asked after a timeout.",
            ),
            _spec("retry_policy/max_attempts", "Attempts in total", kind=Kind.NUMBER),
            _spec(
                "retry_policy/retryable_error_codes",
                "Retryable error codes",
                "One per line.",
                kind=Kind.LINES,
            ),
        ),
    ),
    Step(
        8,
        "evidence",
        "Add the evidence contract",
        "Which facts of the result will the record cite?",
        (
            _spec(
                "resources",
                "Resources",
                'What can be read: [{"uri": "payments://limits", "name": "Limits", "mimeType": '
                '"application/json", "size_bytes": 2048, "classification": "INTERNAL", …}]',
                kind=Kind.JSON,
            ),
            _spec(
                "resource_templates",
                "Resource templates",
                'As resources, with {"uri_template": "payments://day/{date}", '
                '"parameter_constraints": {"date": {"pattern": "^[0-9-]{10}$"}}, …}',
                kind=Kind.JSON,
            ),
            _spec(
                "prompts",
                "Prompts",
                '[{"name": "refund_summary", "description": "…", "version": "1.0.0"}]',
                kind=Kind.JSON,
            ),
        ),
        (
            _spec(
                "evidence_keys",
                "Evidence keys",
                "Members of the output, one per line.",
                kind=Kind.LINES,
            ),
        ),
    ),
    Step(
        9,
        "observability",
        "Add observability",
        "How is a call followed, measured and its failures named?",
        (
            _spec("observability/trace_context", "Trace context", placeholder="w3c"),
            _spec("observability/span_name_prefix", "Span name prefix"),
            _spec("observability/metrics", "Metrics", "One per line.", kind=Kind.LINES),
        ),
        (
            _spec(
                "errors",
                "Errors",
                '[{"code": "NOT_FOUND", "kind": "validation", "retryable": false, '
                '"remediation": "Check the id."}]',
                kind=Kind.JSON,
            ),
            _spec(
                "cost",
                "Cost",
                'What one call may cost: {"reserve_cents": 2, "actual_pointer": "/cost_cents"}',
                kind=Kind.JSON,
            ),
        ),
    ),
    Step(
        10,
        "policy",
        "Add policy bindings",
        "Which rules, gates and decisions use it?",
        (
            _spec(
                "sampling",
                "Sampling",
                'May the server ask for model calls? {"declared": true, "purpose": "…", "budget": '
                '{"max_requests_per_run": 1, "max_cost_cents": 5, …}, "policy_refs": ["POLICY_…"]}',
                kind=Kind.JSON,
            ),
            _spec(
                "elicitation",
                "Elicitation",
                'What users may be asked: [{"elicitation_id": "el_reason", "mode": "form", '
                '"purpose": "…", "schema": {…}, "user_may_decline": true, …}]',
                kind=Kind.JSON,
            ),
        ),
        (
            _spec("requires_approval_gate", "Approval gate", placeholder="GATE_FINANCE_APPROVAL"),
            _spec("decision_bindings", "Decisions", "One per line.", kind=Kind.LINES),
            _spec("policy_refs", "Policies", "One per line.", kind=Kind.LINES),
            _spec(
                "arg_constraints",
                "Argument constraints",
                'Per argument: {"amount": {"min": 1, "max": 500}, "currency": {"enum": ["INR"]}}',
                kind=Kind.JSON,
            ),
            _spec("rate_limit", "Rate limit", '{"max": 10, "per_seconds": 60}', kind=Kind.JSON),
        ),
    ),
    Step(
        11,
        "test",
        "Test it",
        "Try arguments against the input schema before anybody reviews it.",
    ),
    Step(
        12,
        "publish",
        "Publish",
        "What should whoever rolls it out, or back, know?",
        (
            _spec("rollout_notes", "Rollout notes", kind=Kind.LONG_TEXT),
            _spec("rollback_notes", "Rollback notes", kind=Kind.LONG_TEXT),
            _spec("migration_notes", "Migration notes", kind=Kind.LONG_TEXT),
        ),
    ),
)
STARTER: dict[str, object] = {
    "environment": "production",
    "protocol": "mcp",
    "protocol_version": "2025-11-25",
    "transport": {"kind": "streamable_http"},
    "auth": {"type": "oauth2", "allow_token_passthrough": False},
    "capabilities": [{}],
    "schemas": {},
}
