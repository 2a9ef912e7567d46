"""Codes for what the rules and the capacity of the house do not allow."""

from contextos.core.error_kinds import ErrorKind as Kind
from contextos.core.error_kinds import ErrorSpec

_ASK_ADMIN = "Ask a platform administrator for access, naming the code and the time."

GOVERNANCE_CODES = (
    ErrorSpec(
        code="permission.denied",
        kind=Kind.POLICY,
        http_status=403,
        title="You may not do this",
        remediation=_ASK_ADMIN,
    ),
    ErrorSpec(
        code="role.missing",
        kind=Kind.POLICY,
        http_status=403,
        title="This needs a role that you do not hold",
        remediation=_ASK_ADMIN,
    ),
    ErrorSpec(
        code="tenant.forbidden",
        kind=Kind.POLICY,
        http_status=403,
        title="This belongs to a tenant you do not work for",
        remediation="Switch to a tenant you are a member of, or ask for membership.",
    ),
    ErrorSpec(
        code="principal.invalid",
        kind=Kind.AUTH,
        http_status=403,
        title="The chain of principals is not acceptable",
        remediation="Send the chain outermost first, each principal once, all of one tenant.",
    ),
    ErrorSpec(
        code="capability.unknown",
        kind=Kind.POLICY,
        http_status=404,
        title="No such capability exists for this run",
        remediation="Read the run's tool manifest; only what it lists can be called.",
    ),
    ErrorSpec(
        code="pin.revoked",
        kind=Kind.POLICY,
        http_status=403,
        title="The adapter version this run is pinned to was withdrawn",
        remediation="Open a new run; it will pin the version that is active now.",
    ),
    ErrorSpec(
        code="mode.unknown",
        kind=Kind.VALIDATION,
        http_status=422,
        title="That is not one of the five approval modes",
        remediation="Use read_only, local_write, network, delegated or destructive.",
    ),
)

CAPACITY_CODES = (
    ErrorSpec(
        code="rate.limited",
        kind=Kind.RATE_LIMITED,
        http_status=429,
        title="Too many calls in a short time",
        remediation="Wait for the time in Retry-After, then go on more slowly.",
        retryable=True,
    ),
    ErrorSpec(
        code="budget.exhausted",
        kind=Kind.BUDGET,
        http_status=429,
        title="The run has used up its budget",
        remediation="Open a new run, or ask for a larger budget for this intent.",
    ),
    ErrorSpec(
        code="circuit.open",
        kind=Kind.CIRCUIT_OPEN,
        http_status=503,
        title="The adapter is failing and rests for a while",
        remediation="Try again after the time in Retry-After; the owner has been told.",
        retryable=True,
    ),
    ErrorSpec(
        code="drift.quarantined",
        kind=Kind.DRIFT,
        http_status=503,
        title="The adapter no longer matches its reviewed contract",
        remediation="Wait until the adapter's owner has had the change reviewed.",
        retryable=True,
    ),
    ErrorSpec(
        code="record.unavailable",
        kind=Kind.INTERNAL,
        http_status=503,
        title="The decision can't be recorded, so nothing was done",
        remediation="Try again shortly with the same idempotency key.",
        retryable=True,
    ),
    ErrorSpec(
        code="internal.error",
        kind=Kind.INTERNAL,
        http_status=500,
        title="Something went wrong on our side",
        remediation="Try again; if it persists, report the trace id to the operators.",
        retryable=True,
    ),
)
