"""The error codes that belong to replay."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="replay.unknown_decision",
        kind=ErrorKind.POLICY,
        http_status=404,
        title="There is no such decision record in your tenant",
        remediation="Take the decision_id from an envelope, a record or the list of calls.",
    ),
    ErrorSpec(
        code="replay.packet_unreadable",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The file is not a replay packet",
        remediation="Export it again; the schema is replay-packet.v1 under /schemas/.",
    ),
    ErrorSpec(
        code="replay.period_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The period can't be replayed",
        remediation="Give a beginning before its end, both in RFC 3339 or as days, such as "
        "2026-11-01.",
    ),
    ErrorSpec(
        code="replay.too_many_jobs",
        kind=ErrorKind.RATE_LIMITED,
        http_status=429,
        title="Enough replays of periods are under way in this tenant",
        remediation="Wait until one is done, or stop one on the page of replays.",
        retryable=True,
    ),
    ErrorSpec(
        code="replay.unknown_draft",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="There is no such draft in your tenant",
        remediation="Choose a version of a policy bundle or of an adapter that you may read.",
    ),
    ErrorSpec(
        code="replay.already_ended",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The replay has ended already",
        remediation="Read what came out; start another one if you need it.",
    ),
)
