"""Codes for what is wrong with the request itself: its JSON, its values, its key."""

from contextos.core.error_kinds import ErrorKind as Kind
from contextos.core.error_kinds import ErrorSpec

JSON_CODES = (
    ErrorSpec(
        code="json.malformed",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="The document is not valid JSON",
        remediation="Send RFC 8259 JSON in UTF-8 without a byte order mark, NaN or Infinity.",
    ),
    ErrorSpec(
        code="json.duplicate_key",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="An object repeats a key",
        remediation="Send every key once; two readers could disagree about a repeated key.",
    ),
    ErrorSpec(
        code="json.too_deep",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="The document is nested too deeply",
        remediation="Flatten the document to the depth named in the error.",
    ),
    ErrorSpec(
        code="json.too_large",
        kind=Kind.PROTOCOL,
        http_status=413,
        title="The document is too large",
        remediation="Send less, or pass a reference to the content instead of the content.",
    ),
    ErrorSpec(
        code="json.not_an_object",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="The document is not a JSON object",
        remediation="Send one JSON object: { ... }.",
    ),
    ErrorSpec(
        code="json.unstorable",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="The document holds a value that can't be stored or hashed",
        remediation="Remove U+0000, lone surrogates, NaN and non-JSON values.",
    ),
    ErrorSpec(
        code="json.integer_too_large",
        kind=Kind.VALIDATION,
        http_status=422,
        title="An integer lies outside what JSON carries exactly",
        remediation="Send integers of 2^53 or more as strings, if the schema allows it.",
    ),
    ErrorSpec(
        code="json.number_out_of_range",
        kind=Kind.VALIDATION,
        http_status=422,
        title="A number is too large for a double",
        remediation="Send a number between -1.7e308 and 1.7e308.",
    ),
)

VALUE_CODES = (
    ErrorSpec(
        code="id.malformed",
        kind=Kind.VALIDATION,
        http_status=422,
        title="That is not an id of the kind expected",
        remediation="Send the id exactly as it was returned.",
    ),
    ErrorSpec(
        code="time.malformed",
        kind=Kind.VALIDATION,
        http_status=422,
        title="That is not an RFC 3339 time",
        remediation="Send a time such as 2026-01-31T12:00:00.000Z.",
    ),
)

REQUEST_CODES = (
    ErrorSpec(
        code="request.invalid",
        kind=Kind.PROTOCOL,
        http_status=400,
        title="The request is not one this service understands",
        remediation="Compare the request with the API description at /api/docs.",
    ),
    ErrorSpec(
        code="request.not_found",
        kind=Kind.PROTOCOL,
        http_status=404,
        title="There is nothing here that you may see",
        remediation="Check the id and the tenant of your token.",
    ),
    ErrorSpec(
        code="request.method_not_allowed",
        kind=Kind.PROTOCOL,
        http_status=405,
        title="This path does not take that method",
        remediation="Use one of the methods in the Allow header.",
    ),
    ErrorSpec(
        code="request.not_acceptable",
        kind=Kind.PROTOCOL,
        http_status=406,
        title="The answer can't be given in the format asked for",
        remediation="Send `Accept: application/json`.",
    ),
    ErrorSpec(
        code="request.unsupported_media_type",
        kind=Kind.PROTOCOL,
        http_status=415,
        title="The body is in a format this path does not read",
        remediation="Send `Content-Type: application/json`.",
    ),
    ErrorSpec(
        code="state.transition_refused",
        kind=Kind.PROTOCOL,
        http_status=409,
        title="That step is not possible from the present state",
        remediation="Reload the object and choose one of the steps it now allows.",
    ),
    ErrorSpec(
        code="idempotency.missing",
        kind=Kind.IDEMPOTENCY,
        http_status=400,
        title="A call that can change something needs an idempotency key",
        remediation="Send a fresh `idempotency_key`, and the same one again when you retry.",
    ),
    ErrorSpec(
        code="idempotency.in_flight",
        kind=Kind.IDEMPOTENCY,
        http_status=409,
        title="The same call is being executed right now",
        remediation="Wait, then repeat the call with the same key to read its result.",
        retryable=True,
    ),
    ErrorSpec(
        code="idempotency.conflict",
        kind=Kind.IDEMPOTENCY,
        http_status=422,
        title="This idempotency key was used with other arguments",
        remediation="Use a new key for the new arguments.",
    ),
)
