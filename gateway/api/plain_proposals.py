"""A proposal as nearly everybody sends it: answered word for word as by the view, without DRF's
request and response between, and where its caller was here a moment ago, from memory."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from contextos import telemetry
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.tokens import VerifiedToken
from contextos.identity.authentication import bearer_of, seen_agent_of
from contextos.restkit.problems import as_coded_error
from contextos.restkit.renderers import CanonicalJSONRenderer
from gateway.answers import Answer
from gateway.api.bodies import checked
from gateway.api.proposing import baggage_of, faulty_request, proposed
from gateway.calls import propose_on
from gateway.context import CallRequest
from gateway.identity import Caller, caller_of
from gateway.remembering import forget, standing_of

_JSON = CanonicalJSONRenderer.media_type
_SHORT_BODY = 16 * 1024


def is_plain_post(request: HttpRequest) -> bool:
    """JSON, and any answer is welcome: nothing to be negotiated, nothing but one way to read it."""
    asked = request.META
    length = asked.get("CONTENT_LENGTH") or "0"
    return (
        request.method == "POST"
        and length != "0"
        and length.isdecimal()
        and asked.get("CONTENT_TYPE") == _JSON
        and asked.get("HTTP_ACCEPT", "*/*") in ("*/*", _JSON)
        and not asked.get("QUERY_STRING")
    )


def plainly_answered(request: HttpRequest, *, allow: str) -> HttpResponse:
    """What the view answers, refusals included."""
    try:
        token = _remembered_token(request)
        answer = _answered(request) if token is None else _on_memory(request, token)
    except Exception as fault:
        error = as_coded_error(fault)
        if error is None:
            raise
        answer = faulty_request(error)
    headers, told = {"Allow": allow, **answer.headers}, baggage_of(answer.body)
    if told:
        headers["baggage"] = told
    text = CanonicalJSONRenderer().render(answer.body)
    return HttpResponse(text, status=answer.http_status, headers=headers, content_type=_JSON)


def _answered(request: HttpRequest) -> Answer:
    """Who asks comes first: nobody else's body is worth reading."""
    caller = _caller(request)
    return proposed(caller, _body(request), request)


def _caller(request: HttpRequest) -> Caller:
    request.user = bearer_of(request)  # type: ignore[assignment]  # as DRF does
    return caller_of(request)


def _body(request: HttpRequest) -> dict[str, Any]:
    given = strict_json.loads_object(request.read(strict_json.MAX_BYTES + 1))
    return checked(given, "tool-call")


def _remembered_token(request: HttpRequest) -> VerifiedToken | None:
    """The token of an agent that was here a moment ago, with a body as short as most are."""
    if telemetry.is_on() or int(request.META["CONTENT_LENGTH"]) > _SHORT_BODY:
        return None
    return seen_agent_of(request)


def _on_memory(request: HttpRequest, token: VerifiedToken) -> Answer:
    """The answer to a read like the last ones of its caller; else everything is asked."""
    try:
        body = _body(request)
    except ContextOSError:
        _caller(request)  # whoever may not ask is told nothing of what is wrong with it
        raise
    asked, rate_is_taken = CallRequest.from_body(body), False
    plain = asked.idempotency_key is None and not asked.evidence_refs
    standing = standing_of(token, asked.run_id) if plain else None
    if standing is not None:
        answer = propose_on(standing, asked)
        if isinstance(answer, Answer):
            request.user = standing.caller.agent  # type: ignore[assignment]  # for the access line
            return answer
        forget(token, asked.run_id)
        rate_is_taken = answer.rate_is_taken
    return proposed(_caller(request), body, request, rate_is_taken=rate_is_taken)
