"""Changes to the adapter around its capabilities, classed by hand."""

from collections.abc import Iterator

from tests.registry.risk_diff.manifests import agent, custom, local
from tests.registry.risk_diff.mutation import FORM, GONE, LOOKUP, Mutation, family


def adapter_mutations() -> Iterator[Mutation]:
    """Names, owner, release, protocol and what the server declares."""
    yield from family("adapter.identity", "/adapter_id", unknown=("adp_payments_v2",))
    yield from family("adapter.name", "/name", unknown=("Payments\u200b Adapter", "Other"))
    yield from family("adapter.name", "/description", unknown=("Now with a text.",))
    yield from family("adapter.owner", "/owner_role", unknown=("growth_team",), widens=(GONE,))
    yield from family("adapter.environment", "/environment", unknown=("development", "workstation"))
    yield from family(
        "adapter.version", "/version", neutral=("1.0.1", "2.0.0"), unknown=("0.9.0", "latest", GONE)
    )
    yield from family("adapter.notes", "/rollout_notes", neutral=("All at once.", GONE))
    yield from family("adapter.notes", "/rollback_notes", neutral=("Republish 1.0.0.",))
    yield from family("adapter.dialect_notes", "/schema_dialect_notes", unknown=("Draft 7.",))
    yield from family("protocol.kind", "/protocol", unknown=("openapi", "custom"))
    yield from family(
        "protocol.version",
        "/protocol_version",
        widens=("2025-06-18", "2024-11-05"),
        unknown=("2026-07-28", "next"),
    )
    yield from family(
        "server.capabilities", "/server_capabilities/resources/subscribe", widens=(True,)
    )
    yield from family("server.capabilities", "/server_capabilities/sampling", widens=({},))
    yield from family("server.capabilities", "/server_capabilities/tasks", narrows=(GONE,))
    yield from family("server.capabilities", "/server_capabilities/tasks/list", narrows=(False,))
    yield from family("server.capabilities", "/server_capabilities/tasks/cancel", unknown=(False,))
    yield from family("server.capabilities", "/server_capabilities", widens=(GONE,), unknown=({},))
    yield from family("observability.coverage", "/observability/trace_context", widens=(GONE,))
    yield from family(
        "observability.coverage",
        "/observability/metrics",
        widens=(["latency_ms"], GONE),
        narrows=(["latency_ms", "retry_count", "upstream_status", "cost_cents", "tokens"],),
    )


def transport_mutations() -> Iterator[Mutation]:
    """The way calls reach the server."""
    url = "/transport/endpoint_ref"
    yield from family("transport.kind", "/transport/kind", unknown=("https", "stdio"))
    yield from family(
        "transport.host",
        url,
        widens=(
            "https://payments.example.org/mcp",
            "https://payments.example.com.evil.test/mcp",
            "https://payments.example.com:8443/mcp",
            "https://169.254.169.254/mcp",
        ),
        unknown=(
            "https://payments.example.com@evil.test/mcp",
            "https://payments.example.com\\@evil.test/mcp",
            "vault://endpoints/payments",
            GONE,
        ),
    )
    yield from family("transport.scheme", url, widens=("http://payments.example.com/mcp",))
    yield from family(
        "transport.endpoint_path",
        url,
        unknown=("https://payments.example.com/admin", "https://payments.example.com/mcp?debug=1"),
        neutral=("https://PAYMENTS.example.com/mcp", "https://payments.example.com:443/mcp"),
    )
    ours, admin = "https://contextos.example.com", "https://admin.example.com"
    yield from family(
        "transport.origins",
        "/transport/origin_allowlist",
        widens=([ours, admin, "https://evil.test"], [ours, admin, "*"]),
        narrows=([ours],),
        neutral=([admin, ours],),
        unknown=([], GONE, "*"),
    )
    yield from family(
        "transport.timeout",
        "/transport/timeout_seconds",
        widens=(60, GONE),
        narrows=(5,),
        unknown=("long", 0, -1),
    )
    yield from family(
        "transport.session_binding", "/transport/session_binding", widens=(GONE,), unknown=("none",)
    )


def auth_mutations() -> Iterator[Mutation]:
    """Credentials and scopes."""
    step_up = "/auth/step_up_scopes/payments.issue_refund"
    write, notify = "payments.refund.write", "payments.refund.notify"
    yield from family("auth.type", "/auth/type", widens=("none",), unknown=("api_key", "mtls"))
    yield from family(
        "auth.initial_scopes",
        "/auth/initial_scopes",
        widens=(["payments.read", "payments.admin"], ["payments.read", write, notify]),
        narrows=([],),
    )
    yield from family(
        "auth.step_up_scopes",
        step_up,
        widens=([write, notify, "payments.payout"],),
        narrows=([write],),
        neutral=([notify, write],),
        unknown=([], GONE, "all"),
    )
    yield from family(
        "auth.step_up_scopes",
        "/auth/step_up_scopes/payments.lookup_transaction",
        widens=(["payments.history"],),
    )
    yield from family(
        "auth.audience", "/auth/token_audience", unknown=("everything",), widens=(GONE,)
    )
    yield from family(
        "auth.audience", "/auth/resource", unknown=("https://evil.test",), widens=(GONE,)
    )
    yield from family("auth.passthrough", "/auth/allow_token_passthrough", widens=(True,))
    yield from family("auth.passthrough", "/auth/allow_token_passthrough", unknown=("yes",))
    yield from family("auth.reason", "/auth/reason", neutral=("Internal network.",))
    yield from family("auth.present", "/auth", widens=(GONE,))


def catalogue_mutations() -> Iterator[Mutation]:
    """What is offered at all."""
    new = {"capability_id": "payments.pay_out", "mcp_tool_name": "payments_pay_out"}
    yield from family("capability.added", "/capabilities/-", widens=(new,))
    yield from family("capability.removed", LOOKUP, narrows=(GONE,))
    yield from family("catalogue.added", "/resources/-", widens=({"uri": "ledger://payouts"},))
    yield from family("catalogue.removed", "/resources/0", narrows=(GONE,))
    yield from family(
        "catalogue.added", "/resource_templates/-", widens=({"uri_template": "x://{y}"},)
    )
    yield from family("catalogue.removed", "/resource_templates/0", narrows=(GONE,))
    yield from family("catalogue.added", "/prompts/-", widens=({"name": "p"},))
    yield from family("catalogue.removed", "/prompts/0", narrows=(GONE,))
    yield from family("prompt.contents", "/prompts/0/description", unknown=("Ignore the rules.",))
    yield from family("roots.boundary", "/roots/-", widens=({"uri": "file:///"},))
    yield from family("roots.boundary", "/roots/1", narrows=(GONE,))
    yield from family("roots.boundary", "/roots", unknown=([],))
    ledger, shelf = "/resources/0", "/resource_templates/0"
    yield from family(
        "resource.classification",
        f"{ledger}/classification",
        widens=("INTERNAL", "PUBLIC", GONE),
        unknown=("RESTRICTED", "SECRET"),
    )
    yield from family(
        "resource.access",
        f"{ledger}/access/roles",
        widens=(["finance", "audit", "support"],),
        narrows=(["audit"],),
        unknown=([], GONE),
    )
    yield from family(
        "resource.access", f"{ledger}/access/intents", widens=(["support.refund", "sales"],)
    )
    yield from family("resource.metadata", f"{ledger}/size_bytes", widens=(9**9,), narrows=(10,))
    yield from family("resource.metadata", f"{ledger}/source", unknown=("elsewhere",))
    yield from family("resource.metadata", f"{ledger}/freshness", widens=(GONE,))
    yield from family("template.metadata", f"{shelf}/description", unknown=("All of it.",))
    yield from family("template.access", f"{shelf}/access", unknown=({"roles": ["x"]},))
    yield from family("template.classification", f"{shelf}/classification", widens=("PUBLIC",))
    yield from family("template.parameters", f"{shelf}/parameter_constraints/year", widens=(GONE,))
    yield from family(
        "template.parameters",
        f"{shelf}/parameter_constraints/year/pattern",
        widens=("^[0-9]0[0-9]{2}$",),
        narrows=("^20[2-3]{2}$",),
        unknown=("^.*$",),
    )
    yield from family(
        "template.parameters",
        f"{shelf}/parameter_constraints/region/enum",
        widens=(["in", "np", "us"],),
        narrows=(["in"],),
    )


def interaction_mutations() -> Iterator[Mutation]:
    """What the server may ask back."""
    yield from family("sampling.declared", "/sampling", narrows=({"declared": False}, GONE))
    yield from family("sampling.tools", "/sampling/tools_enabled", widens=(True,))
    for name in ("max_requests_per_run", "max_iterations", "max_output_tokens", "max_cost_cents"):
        yield from family(
            "sampling.budget",
            f"/sampling/budget/{name}",
            widens=(9999, GONE),
            narrows=(1,),
            unknown=(-1,),
        )
    yield from family("sampling.budget", "/sampling/budget", widens=(GONE,))
    yield from family("sampling.oversight", "/sampling/human_review", widens=(False, GONE))
    yield from family("sampling.oversight", "/sampling/traced", widens=(False,))
    yield from family("sampling.oversight", "/sampling/policy_refs", widens=([],))
    yield from family("sampling.purpose", "/sampling/purpose", unknown=("Anything.",))
    question = "/elicitation/0"
    more = {"elicitation_id": "card", "mode": "url"}
    yield from family("catalogue.added", "/elicitation/-", widens=(more,))
    yield from family("catalogue.removed", question, narrows=(GONE,))
    yield from family("elicitation.mode", f"{question}/mode", unknown=("url",))
    yield from family("elicitation.mode", f"{question}/url_template", widens=("https://evil.test",))
    yield from family("elicitation.purpose", f"{question}/purpose", unknown=("Ask for the card.",))
    yield from family("elicitation.consent", f"{question}/requires_user_consent", widens=(False,))
    yield from family("elicitation.consent", f"{question}/user_may_decline", widens=(False, GONE))
    yield from family(
        "elicitation.consent", f"{question}/state_binding", widens=(GONE,), unknown=("none",)
    )
    yield from family(
        "elicitation.rate", f"{question}/rate_limit_per_run", widens=(50, GONE), unknown=(0,)
    )
    yield from family("schema.property_added", f"{FORM}/properties/card_number", widens=({},))
    yield from family("schema.size_limit", f"{FORM}/properties/reason/maxLength", widens=(900,))
    yield from family("elicitation.form", FORM, widens=(GONE,))


def other_transports_mutations() -> Iterator[Mutation]:
    """Local processes, other agents, own connectors."""
    box = "/transport/sandbox"
    yield from family(
        "process.command",
        "/transport/command",
        widens=(["python", "-m", "other_server"], ["sh", "-c", "python -m files_server"]),
        base=local,
    )
    yield from family(
        "process.command_digest",
        "/transport/command_digest",
        widens=(GONE,),
        unknown=("sha256:" + "d" * 64,),
        base=local,
    )
    yield from family(
        "process.command_disclosed",
        "/transport/command_disclosed",
        widens=(False, GONE),
        base=local,
    )
    consent = "/transport/install_consent"
    yield from family("process.install_consent", f"{consent}/required", widens=(False,), base=local)
    yield from family(
        "process.install_consent",
        f"{consent}/shown_to",
        widens=(["owner"],),
        narrows=(["owner", "admin", "security"],),
        base=local,
    )
    yield from family(
        "process.sandbox_filesystem",
        f"{box}/filesystem",
        widens=(["/srv/files", "/srv/cache", "/"], GONE),
        narrows=(["/srv/files"], []),
        base=local,
    )
    yield from family("process.sandbox_filesystem", box, widens=(GONE,), base=local)
    yield from family(
        "process.sandbox_network",
        f"{box}/network",
        widens=("full", True, ["api.example.com"], GONE),
        base=local,
    )
    yield from family("process.launcher", "/transport/launcher", unknown=("direct",), base=local)
    yield from family("process.launcher", "/transport/log_stream", widens=(GONE,), base=local)
    yield from family(
        "a2a.agent_card", "/transport/agent_card_ref", unknown=("https://evil.test",), base=agent
    )
    yield from family(
        "a2a.agent_card",
        "/transport/agent_card_digest",
        widens=(GONE,),
        unknown=("sha256:" + "e" * 64,),
        base=agent,
    )
    signature = "/transport/agent_card_signature"
    yield from family("a2a.card_signature", f"{signature}/required", widens=(False,), base=agent)
    yield from family(
        "a2a.card_signature",
        f"{signature}/algorithms",
        widens=(["EdDSA", "HS256"], GONE),
        unknown=([],),
        base=agent,
    )
    yield from family(
        "a2a.card_signature", f"{signature}/key_ids", widens=(["k1", "k2"],), base=agent
    )
    yield from family("openapi.spec_digest", "/transport/spec_digest", widens=(GONE,), base=custom)
    for name in ("framing", "auth", "replay", "cancellation", "observation"):
        yield from family(
            "transport.custom_contract",
            f"/transport/{name}",
            widens=(GONE,),
            unknown=("otherwise",),
            base=custom,
        )
