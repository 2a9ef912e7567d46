"""The error codes that belong to the gateway."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="function.unknown",
        kind=ErrorKind.PROTOCOL,
        http_status=502,
        title="No function of that name is registered",
        remediation="Register it in a module named in CONTEXTOS_FUNCTION_MODULES.",
    ),
    ErrorSpec(
        code="function.unsupported_action",
        kind=ErrorKind.PROTOCOL,
        http_status=502,
        title="The function can't be polled or cancelled",
        remediation="Register it with poll and cancel if its work takes long.",
    ),
    ErrorSpec(
        code="function.raised",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The function ended with an exception",
        remediation="Its author finds the traceback in the runner's log.",
    ),
    ErrorSpec(
        code="function.reply_too_large",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The function's answer is larger than allowed",
        remediation="Have it return a reference instead of the whole content.",
    ),
    ErrorSpec(
        code="function.reply_not_json",
        kind=ErrorKind.PROTOCOL,
        http_status=502,
        title="The function's answer is not JSON",
        remediation="Have it return objects, lists, strings, numbers, booleans or null.",
    ),
    ErrorSpec(
        code="function.timeout",
        kind=ErrorKind.TIMEOUT,
        http_status=504,
        title="The function did not answer in time and was killed",
        remediation="Try again later, or give the capability a longer timeout.",
        retryable=True,
    ),
    ErrorSpec(
        code="function.busy",
        kind=ErrorKind.TIMEOUT,
        http_status=503,
        title="Every runner is busy",
        remediation="Try again in a moment; nothing was started.",
        retryable=True,
    ),
    ErrorSpec(
        code="function.runner_died",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The function's process ended in the middle of the call",
        remediation="Its author finds the reason in the runner's log.",
        retryable=True,
    ),
    ErrorSpec(
        code="function.runner_failed",
        kind=ErrorKind.INTERNAL,
        http_status=503,
        title="The runner of functions can't start",
        remediation="Run `python -m gateway.connectors.function.child MODULE` to see why.",
    ),
)

register(
    ErrorSpec(
        code="idempotency.malformed",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The idempotency key has the wrong shape",
        remediation="Send a key of 1 to 255 characters that fits the capability's pattern.",
    ),
)

register(
    ErrorSpec(
        code="run.agent_needed",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="A run is opened and used by an agent",
        remediation="Send the agent's token as Bearer, and yours as X-User-Delegation.",
    ),
    ErrorSpec(
        code="run.claim_exceeds_token",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The body claims more than the tokens say",
        remediation="Leave user and agent out of the body: they are read from the tokens.",
    ),
    ErrorSpec(
        code="run.environment_unknown",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The tenant does not use this environment",
        remediation="Name an active environment of the tenant, or leave it out.",
    ),
    ErrorSpec(
        code="run.no_pack",
        kind=ErrorKind.POLICY,
        http_status=403,
        title="No published Context Pack serves this intent",
        remediation="Ask a platform admin to publish a pack for the intent.",
    ),
    ErrorSpec(
        code="run.mode_above_token",
        kind=ErrorKind.POLICY,
        http_status=403,
        title="The safety mode is higher than the agent's token allows",
        remediation="Ask for a lower safety_mode, or for a token that carries the mode.",
    ),
    ErrorSpec(
        code="run.budget_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The budget is beyond what a run may have",
        remediation="Ask for less, or leave run_budget out to get the default.",
    ),
    ErrorSpec(
        code="run.unknown",
        kind=ErrorKind.POLICY,
        http_status=404,
        title="There is no such run of yours",
        remediation="Open a run first, with the same agent and the same delegation.",
    ),
)

register(
    ErrorSpec(
        code="args.schema",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The arguments do not match the capability's schema",
        remediation="Correct the arguments named in details; the same key may be used again.",
    ),
    ErrorSpec(
        code="args.constraint",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="An argument is outside what manifest, permission or policy allow",
        remediation="Stay within the limits named in details; the same key may be used again.",
    ),
    ErrorSpec(
        code="policy.obligation_unmet",
        kind=ErrorKind.POLICY,
        http_status=403,
        title="Policy allows this call only with more than it brings",
        remediation="Bring what the message names: a delegation, evidence, a key or an argument.",
    ),
    ErrorSpec(
        code="mode.above_permission",
        kind=ErrorKind.POLICY,
        http_status=403,
        title="The call is riskier than the Context Pack permits",
        remediation="Have the pack's permission raised by review, or call with less.",
    ),
    ErrorSpec(
        code="approval.gate_unavailable",
        kind=ErrorKind.APPROVAL,
        http_status=403,
        title="The gate that has to approve this call has no approvers",
        remediation="Nothing runs past a gate nobody keeps; ask a platform admin to set it up.",
    ),
)

register(
    ErrorSpec(
        code="call.unknown",
        kind=ErrorKind.POLICY,
        http_status=404,
        title="There is no such call of yours",
        remediation="Use the tool_call_id of an answer you got, with the same tokens.",
    ),
    ErrorSpec(
        code="call.needs_worker",
        kind=ErrorKind.INTERNAL,
        http_status=503,
        title="This kind of call runs in a worker, and none serves it yet",
        remediation="Only quick reads run in this version; nothing was started.",
    ),
    ErrorSpec(
        code="call.lost_lease",
        kind=ErrorKind.INTERNAL,
        http_status=503,
        title="The call took longer than its lease and was taken over",
        remediation="Ask for the call's state; do not send it again with another key.",
        retryable=True,
    ),
    ErrorSpec(
        code="connector.unavailable",
        kind=ErrorKind.PROTOCOL,
        http_status=503,
        title="No connector speaks this adapter's protocol yet",
        remediation="Nothing was started; ask the operator which protocols are connected.",
    ),
    ErrorSpec(
        code="function.not_a_task",
        kind=ErrorKind.PROTOCOL,
        http_status=502,
        title="A plain call turned into long-running work",
        remediation="Its author declares execution.mode = task in the manifest.",
    ),
)
