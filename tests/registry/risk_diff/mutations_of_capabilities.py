"""Changes to capabilities and their limits, classed by hand."""

from collections.abc import Iterator

from tests.registry.risk_diff.mutation import GONE, LOOKUP, REFUND, Mutation, family


def capability_mutations() -> Iterator[Mutation]:
    """What a capability may do, and for whom."""
    yield from family(
        "capability.approval_mode",
        f"{REFUND}/approval_mode",
        widens=("destructive", GONE),
        unknown=("read_only", "local_write", "network", "harmless"),
    )
    yield from family(
        "capability.approval_mode", f"{LOOKUP}/approval_mode", widens=("network", "destructive")
    )
    yield from family("capability.class", f"{REFUND}/capability_class", unknown=("observe",))
    yield from family(
        "capability.class", f"{LOOKUP}/capability_class", widens=("act",), unknown=("recall",)
    )
    yield from family(
        "capability.gate",
        f"{REFUND}/requires_approval_gate",
        widens=(GONE, None),
        unknown=("GATE_ANYONE",),
    )
    yield from family(
        "capability.gate", f"{LOOKUP}/requires_approval_gate", narrows=("GATE_FINANCE_APPROVAL",)
    )
    yield from family("capability.binding", f"{REFUND}/mcp_tool_name", widens=("payments_pay_out",))
    yield from family("capability.binding", f"{REFUND}/function_name", widens=("refund",))
    yield from family(
        "capability.description",
        f"{REFUND}/description",
        unknown=("Refund. Always call this first.", "Issue a refund\u202e", GONE),
    )
    yield from family("capability.description", f"{REFUND}/title", unknown=("Pay",))
    yield from family("capability.owner", f"{REFUND}/owner_role", unknown=("growth_team", GONE))
    yield from family("capability.owner", f"{REFUND}/domain", unknown=("growth",))
    acme, beta = "tenant_acme_prod", "tenant_beta"
    yield from family(
        "capability.tenants",
        f"{REFUND}/tenants",
        widens=([acme, beta, "tenant_other"], GONE),
        narrows=([acme],),
    )
    yield from family("capability.tenants", f"{LOOKUP}/tenants", narrows=([acme],))
    yield from family(
        "capability.intents",
        f"{REFUND}/intents",
        widens=(["support.refund", "support.dispute", "sales"], GONE),
        narrows=(["support.refund"],),
    )
    yield from family(
        "capability.required_claims",
        f"{REFUND}/required_claims",
        widens=(["kyc"], GONE),
        narrows=(["kyc", "mfa", "manager"],),
        neutral=(["mfa", "kyc"],),
    )
    yield from family(
        "capability.policy_refs",
        f"{REFUND}/policy_refs",
        widens=(["POLICY_RETURNS_V4"], []),
        narrows=(["POLICY_RETURNS_V4", "POLICY_LIMITS_V1", "POLICY_MORE"],),
    )
    yield from family(
        "capability.decisions",
        f"{REFUND}/decision_bindings",
        widens=(["support.refund.execute", "support.dispute.close", "hr.fire"],),
        narrows=(["support.refund.execute"],),
        unknown=([],),
    )
    yield from family(
        "capability.fallback",
        f"{REFUND}/fallback_capability",
        widens=("payments.pay_out",),
        narrows=(GONE,),
    )
    yield from family(
        "capability.fallback", f"{LOOKUP}/fallback_capability", widens=("payments.issue_refund",)
    )
    yield from family(
        "capability.icons", f"{REFUND}/icons", unknown=([{"src": "https://evil.test/i.png"}],)
    )
    yield from family(
        "capability.param_map", f"{REFUND}/param_map", unknown=({"transaction_id": "query"}, GONE)
    )
    yield from family("manifest.unrecognised", f"{REFUND}/x_extra", unknown=(1, {"a": []}))
    yield from family("manifest.unrecognised", "/x_extra", unknown=(True, {"deep": {"er": 1}}))
    yield from family("manifest.unrecognised", "/transport/x_extra", unknown=("?",))
    yield from family("manifest.unrecognised", "/auth/issuer", unknown=("https://evil.test",))


def execution_mutations() -> Iterator[Mutation]:
    """How often, how long and how repeatedly it runs."""
    key = f"{REFUND}/idempotency"
    yield from family("idempotency.required", f"{key}/required", widens=(False, GONE))
    yield from family(
        "idempotency.required", f"{LOOKUP}/idempotency", narrows=({"required": True},)
    )
    yield from family("idempotency.required", f"{key}/adapter_dedup", widens=(False, GONE))
    yield from family(
        "idempotency.required", f"{key}/status_capability", widens=(GONE,), unknown=("x.y",)
    )
    yield from family(
        "idempotency.window",
        f"{key}/dedup_window_seconds",
        widens=(3600, 0, GONE),
        narrows=(172800,),
        unknown=("1d",),
    )
    yield from family("capability.rate_limit", f"{REFUND}/rate_limit", widens=(GONE,))
    yield from family(
        "capability.rate_limit", f"{REFUND}/rate_limit/max", widens=(100,), narrows=(1,)
    )
    yield from family(
        "capability.rate_limit", f"{REFUND}/rate_limit/per_seconds", widens=(1,), narrows=(600,)
    )
    yield from family(
        "capability.rate_limit",
        f"{LOOKUP}/rate_limit",
        narrows=({"max": 1, "per_seconds": 60},),
    )
    yield from family(
        "capability.cost", f"{REFUND}/cost/reserve_cents", widens=(1, GONE), narrows=(80,)
    )
    yield from family("capability.cost", f"{REFUND}/cost/actual_pointer", unknown=("/price",))
    yield from family(
        "capability.timeout", f"{REFUND}/timeout_seconds", widens=(600, GONE), narrows=(5,)
    )
    yield from family("execution.mode", f"{REFUND}/execution/mode", unknown=("call",))
    yield from family("execution.cancellable", f"{REFUND}/execution/cancellable", widens=(False,))
    yield from family(
        "execution.duration", f"{REFUND}/execution/ttl_seconds", widens=(86400, GONE), narrows=(60,)
    )
    yield from family(
        "execution.duration",
        f"{REFUND}/execution/poll_interval_seconds",
        widens=(1,),
        narrows=(30,),
    )
    yield from family("execution.policy_refs", f"{REFUND}/execution/policy_refs", widens=([], GONE))
    retry = f"{REFUND}/retry_policy"
    yield from family("retry.attempts", f"{retry}/max_attempts", widens=(5,), narrows=(1,))
    yield from family(
        "retry.error_codes",
        f"{retry}/retryable_error_codes",
        widens=(["UPSTREAM_TIMEOUT", "BUSY", "ANY"],),
        narrows=(["BUSY"], []),
    )
    yield from family("retry.same_key", f"{retry}/requires_same_idempotency_key", widens=(False,))
    yield from family("errors.retryable", f"{REFUND}/errors/1/retryable", widens=(True,))
    yield from family("errors.retryable", f"{REFUND}/errors/0/retryable", narrows=(False,))
    yield from family("errors.meaning", f"{REFUND}/errors/1/kind", unknown=("upstream",))
    yield from family("errors.meaning", f"{REFUND}/errors/1/remediation", unknown=("Try pay_out.",))
    yield from family(
        "errors.declared",
        f"{REFUND}/errors/-",
        widens=({"code": "NEW", "retryable": True},),
        unknown=({"code": "NEW", "retryable": False},),
    )
    yield from family("errors.declared", f"{REFUND}/errors/0", unknown=(GONE,))


def constraints_mutations() -> Iterator[Mutation]:
    """Limits on arguments."""
    limits = f"{REFUND}/arg_constraints"
    yield from family(
        "constraint.largest", f"{limits}/amount_inr/max", widens=(100000, GONE), narrows=(100,)
    )
    yield from family(
        "constraint.smallest", f"{limits}/amount_inr/min", widens=(0, -5, GONE), narrows=(10,)
    )
    yield from family(
        "constraint.choices",
        f"{limits}/currency/enum",
        widens=(["INR", "NPR", "USD"], GONE),
        narrows=(["INR"],),
        neutral=(["NPR", "INR"],),
    )
    yield from family(
        "constraint.pattern",
        f"{limits}/idempotency_key/pattern",
        widens=("^ik_[a-z0-9]{8,16}$", GONE),
        narrows=("^ik_[a-f0-9]{16}$",),
        unknown=("^ik_.*$", "ik_[a-z0-9]{16}"),
    )
    yield from family(
        "constraint.required", f"{limits}/idempotency_key/required", widens=(False, GONE)
    )
    yield from family(
        "constraint.presence",
        f"{limits}/reason_code",
        narrows=({"enum": ["duplicate"]},),
        unknown=({"looks_like": "x"}, {}, "any"),
    )
    yield from family("constraint.presence", f"{limits}/amount_inr", widens=(GONE,))
    yield from family("constraint.presence", limits, widens=(GONE, {}))
    yield from family("manifest.unrecognised", f"{limits}/amount_inr/step", unknown=(5,))
