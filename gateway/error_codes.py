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
        remediation="Send 1 to 255 visible characters that fit the capability's pattern.",
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

register(
    ErrorSpec(
        code="loop.detected",
        kind=ErrorKind.RATE_LIMITED,
        http_status=429,
        title="The same call keeps failing",
        remediation="Change the arguments or the plan; repeating it will not help.",
        retryable=True,
    ),
    ErrorSpec(
        code="call.cancelled",
        kind=ErrorKind.UPSTREAM,
        http_status=200,
        title="The call was cancelled",
        remediation="Propose it again with a new key if it is still wanted.",
    ),
    ErrorSpec(
        code="call.worker_lost",
        kind=ErrorKind.TIMEOUT,
        http_status=200,
        title="The process that worked on the call ended without a word",
        remediation="An operator looks at it; ask for the call's state later.",
    ),
    ErrorSpec(
        code="call.reason_missing",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Cancelling needs a reason",
        remediation="Say in a few words why the call should stop.",
    ),
    ErrorSpec(
        code="call.already_ended",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The call has ended and can't be cancelled",
        remediation="Read its result; a new call undoes what it did, if anything can.",
    ),
    ErrorSpec(
        code="call.not_cancellable",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The call has begun, and its manifest does not say it can be cancelled",
        remediation="Wait for its end.",
    ),
    ErrorSpec(
        code="call.just_moved",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The call moved on in this very moment",
        remediation="Look at its state and decide again.",
        retryable=True,
    ),
    ErrorSpec(
        code="task.expired",
        kind=ErrorKind.TIMEOUT,
        http_status=200,
        title="The work did not end within its time to live",
        remediation="Raise execution.ttl_seconds in the manifest, or ask for less work.",
    ),
    ErrorSpec(
        code="task.unreachable",
        kind=ErrorKind.PROTOCOL,
        http_status=200,
        title="The tool began long work but can't be asked after it",
        remediation="Its author registers a poll function.",
    ),
    ErrorSpec(
        code="input.not_awaited",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The call does not wait for input",
        remediation="Read the call; input is taken only while its task is input_required.",
    ),
    ErrorSpec(
        code="input.invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The content does not fit what was asked",
        remediation="Answer with the fields of input_request.schema, or decline.",
    ),
    ErrorSpec(
        code="reconcile.not_unknown",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The outcome of this call is not unknown",
        remediation="Somebody settled it, or it ended by itself: read the call.",
    ),
    ErrorSpec(
        code="reconcile.evidence_missing",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Settling an unknown outcome needs evidence",
        remediation="Say where you looked and what you found, in ten characters or more.",
    ),
    ErrorSpec(
        code="reconcile.output_without_effect",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="What did not happen has no output",
        remediation="Leave the output empty.",
    ),
    ErrorSpec(
        code="reconcile.output_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The output does not match the capability's schema",
        remediation="Copy it as the tool gave it, or leave it empty.",
    ),
    ErrorSpec(
        code="reconcile.not_deduplicated",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="Running it again could make a second effect",
        remediation="Its adapter does not deduplicate: find out what happened and record that.",
    ),
    ErrorSpec(
        code="outcome.did_not_happen",
        kind=ErrorKind.UPSTREAM,
        http_status=200,
        title="The effect did not happen, as a person found out",
        remediation="Propose it again with a new key if it is still wanted.",
    ),
)

register(
    ErrorSpec(
        code="endpoint.invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The endpoint can't be kept as entered",
        remediation="Correct the name or the address.",
    ),
    ErrorSpec(
        code="endpoint.exists",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The endpoint has an address in this environment already",
        remediation="Change the address that is there.",
    ),
)

register(
    ErrorSpec(
        code="adapter.busy",
        kind=ErrorKind.CIRCUIT_OPEN,
        http_status=503,
        title="The adapter has as many calls under way as it may",
        remediation="Nothing was started; try again in a moment, with the same key.",
        retryable=True,
    ),
    ErrorSpec(
        code="adapter.reason_missing",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Changing how an adapter is protected needs a reason",
        remediation="Say in a few words why.",
    ),
    ErrorSpec(
        code="alert.receiver_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Alerts can't be sent there",
        remediation="Give an e-mail address, or an address to post to and a secret.",
    ),
    ErrorSpec(
        code="breaker.already_closed",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The breaker is closed already",
        remediation="Nothing is to be done: calls pass.",
    ),
)

register(
    ErrorSpec(
        code="discovery.not_mcp",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Only MCP servers can be discovered",
        remediation="Write the manifest by hand, or import it.",
    ),
    ErrorSpec(
        code="discovery.endpoint_needed",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Nobody said where the server stands",
        remediation="Give endpoint_ref: a URL, or endpoint://name with an address for it.",
    ),
    ErrorSpec(
        code="discovery.credential_withheld",
        kind=ErrorKind.AUTH,
        http_status=422,
        title="The server wants a credential, and none may be shown there yet",
        remediation="Publish a version that names this endpoint and its auth: only where reviewers "
        "have seen it go is a credential shown.",
    ),
)
