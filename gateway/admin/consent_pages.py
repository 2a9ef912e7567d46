"""The consent page: who asks for what in a person's name, yes or no, and the way back (C7)."""

from __future__ import annotations

import secrets
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache

from contextos.adminkit.display import Tone, badge, mode_badge
from contextos.core.errors import ContextOSError, http_status
from contextos.core.text import reveal_invisible
from contextos.identity.models import User
from contextos.net.targets import parse_target
from gateway.admin.frame import frame
from gateway.consents.trips import (
    Traveller,
    begin_trip,
    decline,
    finish_trip,
    own_request,
    redirect_uri,
)
from gateway.models import ConsentRequest, ConsentState, ToolCall
from registry.labels import class_badge
from registry.resolution import capability_of_version

TITLE = "Consent"
_MARK = "consent_browser"
_ANSWER = ("state", "code", "iss", "error")
# To the person themselves; nobody else sees the page.
_WORDS = {state: state.label.lower() for state in ConsentState} | {
    ConsentState.PENDING: "waiting for you"
}
_TONES: dict[str, Tone] = {
    ConsentState.PENDING: "warning",
    ConsentState.GRANTED: "success",
    ConsentState.DECLINED: "danger",
}


@never_cache
def consent_view(request: HttpRequest, request_id: str) -> HttpResponse:
    """Ask; on yes send the browser on, on no end the call."""
    traveller = _traveller(request)
    asked = own_request(request_id, traveller)
    if asked is None:
        raise Http404
    if request.method != "POST":
        return _page(request, asked)
    try:
        if "decline" in request.POST:
            decline(asked, traveller)
            return HttpResponseRedirect(reverse("admin:gateway_consent", args=[asked.pk]))
        onward = begin_trip(asked, traveller)
    except ContextOSError as refusal:
        asked.refresh_from_db()
        return _page(request, asked, refusal=refusal)
    # A form may post to us alone (CSP), so the browser is sent on by a page of its own.
    context = frame(request, TITLE, onward=onward, host=_host(asked))
    answer = TemplateResponse(request, "gateway/consent_leave.html", context)
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@never_cache
def consent_back_view(request: HttpRequest) -> HttpResponse:
    """Where the authorization server sends the browser; the address is put away at once."""
    answer = {name: request.GET[name] for name in _ANSWER if name in request.GET}
    try:
        asked = finish_trip(answer, _traveller(request))
    except ContextOSError as refusal:
        context = frame(request, TITLE, refusal=refusal)
        return TemplateResponse(
            request, "gateway/consent_failed.html", context, status=http_status(refusal)
        )
    return HttpResponseRedirect(reverse("admin:gateway_consent", args=[asked.pk]))


def _traveller(request: HttpRequest) -> Traveller:
    user = request.user
    if not isinstance(user, User):
        raise Http404
    if _MARK not in request.session:
        request.session[_MARK] = secrets.token_urlsafe(32)
    return Traveller(user, request.session[_MARK])


def _page(
    request: HttpRequest, asked: ConsentRequest, *, refusal: ContextOSError | None = None
) -> HttpResponse:
    call = ToolCall.objects.get(pk=asked.tool_call_id)
    name = reveal_invisible(call.capability_id)
    context = {
        **frame(request, f"{TITLE} for {name}"),
        **_facts(asked, call),
        "name": name,
        "asked": asked,
        "call": call,
        "refusal": refusal,
        "is_pending": asked.state == ConsentState.PENDING,
        "state": badge(_WORDS[ConsentState(asked.state)], _TONES.get(asked.state, "neutral")),
    }
    status = http_status(refusal) if refusal else 200
    return TemplateResponse(request, "gateway/consent.html", context, status=status)


def _facts(asked: ConsentRequest, call: ToolCall) -> dict[str, Any]:
    """From the reviewed manifest and the credential; nothing that an agent wrote."""
    capability = capability_of_version(call.version_id, call.capability_id)
    row = asked.credential
    return {
        "mode": mode_badge(call.mode_effective),
        "mode_name": call.mode_effective,
        "capability_class": class_badge(capability.capability_class.value),
        "description": reveal_invisible(str(capability.declaration.get("description", ""))),
        "agent": reveal_invisible(call.agent_id),
        "adapter": reveal_invisible(f"{call.adapter_id}@{call.adapter_version}"),
        "client_name": reveal_invisible(row.name),
        "client_id": reveal_invisible(row.client_id),
        "host": _host(asked),
        "scopes": [reveal_invisible(scope) for scope in asked.scopes],
        "redirect_uri": redirect_uri(),
        "resource": reveal_invisible(asked.resource),
    }


def _host(asked: ConsentRequest) -> str:
    return parse_target(asked.credential.authorization_endpoint).host
