"""The page that leads a platform admin to the first governed call; it holds no state of its own."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

import orjson
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of
from contextos.identity.models import Agent, Tenant, User
from contextos.identity.services import IssuedGrant, issue_agent_token, register_agent
from gateway.admin.access import runs_the_tenant, tenant_of
from gateway.admin.argument_form import ArgumentsForm
from gateway.admin.call_page import declared_capability
from gateway.admin.first_call_answer import made_call
from gateway.admin.first_call_forms import AgentForm, PackForm, PolicyForm, TokenForm
from gateway.admin.first_call_steps import steps_of
from gateway.admin.frame import frame
from gateway.first_call.drafts import draft_pack, draft_policy
from gateway.first_call.making import make_call
from gateway.first_call.progress import Progress, Wanted, progress_of
from registry.models import Capability

_PIECE = 24
Forms = dict[str, forms.Form]


@never_cache
@sensitive_post_parameters()
def first_call_view(request: HttpRequest) -> HttpResponse:
    """Show how far the tenant is; on a POST take one step, which is a service call as any other."""
    tenant_of(request)
    tenant = cast(Tenant, acting_tenant(request))
    wanted = Wanted(request.GET.get("agent", "")[:100], request.GET.get("capability", "")[:20])
    progress = progress_of(tenant, wanted)
    if request.method != "POST":
        return _page(request, progress, _forms(request, progress))
    if not runs_the_tenant(request):
        raise PermissionDenied
    take = _TAKEN.get(request.POST.get("do", ""))
    filled = _forms(request, progress, request.POST.get("do", ""))
    if take is None or request.POST["do"] not in filled:
        messages.error(request, "That can't be done now; see below what is missing.")
        return _page(request, progress, filled, status=409)
    form = filled[request.POST["do"]]
    answer = _taken(request, progress, form, take) if form.is_valid() else None
    return answer or _page(request, progress, filled, status=422)


Take = Callable[[HttpRequest, Progress, Any], HttpResponse]


def _taken(
    request: HttpRequest, progress: Progress, form: forms.Form, take: Take
) -> HttpResponse | None:
    try:
        return take(request, progress, form)
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
    except ValidationError as fault:
        form.add_error(None, fault.messages)
    return None


# --- the forms that fit now ----------------------------------------------------------------------
def _forms(request: HttpRequest, progress: Progress, sent: str = "") -> Forms:
    """Only what can be done at this point, and only for those who may do it."""
    if not runs_the_tenant(request):
        return {}

    def data(name: str) -> Any:
        return request.POST if sent == name else None

    found: Forms = {}
    if progress.has_people:
        found["agent"] = AgentForm(
            data("agent"),
            prefix="agent",
            tenant=progress.tenant,
            initial={"owner": request.user.pk},
        )
    if progress.agent is not None:
        found["token"] = TokenForm(data("token"), prefix="token")
    if progress.agent is not None and progress.capability is not None:
        found["pack"] = PackForm(data("pack"), prefix="pack")
        found["policy"] = PolicyForm(data("policy"), prefix="policy")
        if progress.permitted.intent:
            schema = _input_schema(progress.capability)
            found["call"] = ArgumentsForm(data("call"), prefix="arg", schema=schema)
    return found


def _input_schema(capability: Capability) -> Any:
    declared = declared_capability(capability.version_id, capability.capability_id)
    return declared.entry["input_schema"] if declared else {}


# --- the steps that are taken here ---------------------------------------------------------------
def _register(request: HttpRequest, progress: Progress, form: AgentForm) -> HttpResponse:
    agent = register_agent(
        tenant_id=progress.tenant.pk, actor=actor_of(request), **form.cleaned_data
    )
    messages.success(request, "The agent is registered. It may read, once something permits it.")
    return _on(progress, "token", agent=agent.agent_id)


@sensitive_variables("grant")
def _issue(request: HttpRequest, progress: Progress, form: TokenForm) -> HttpResponse:
    """Shown in this one answer; a reload asks for a new one."""
    agent = cast(Agent, progress.agent)
    grant = issue_agent_token(
        tenant_id=progress.tenant.pk,
        agent_id=agent.agent_id,
        actor=actor_of(request),
        lifetime=form.cleaned_data["lifetime"],
    )
    wanted = Wanted(agent.agent_id, str(progress.capability.pk) if progress.capability else "")
    now = progress_of(progress.tenant, wanted)
    return _page(request, now, _forms(request, now), grant=grant)


def _pack(request: HttpRequest, progress: Progress, form: PackForm) -> HttpResponse:
    draft_pack(
        capability=cast(Capability, progress.capability),
        agent=cast(Agent, progress.agent),
        author=cast(User, request.user),
        actor=actor_of(request),
        **form.cleaned_data,
    )
    messages.success(request, "The pack is drafted. It permits nothing until it is published.")
    return _on(progress, "pack")


def _policy(request: HttpRequest, progress: Progress, form: PolicyForm) -> HttpResponse:
    draft_policy(
        capability=cast(Capability, progress.capability),
        author=cast(User, request.user),
        actor=actor_of(request),
    )
    messages.success(request, "The policy is drafted. It decides nothing until it is published.")
    return _on(progress, "pack")


def _make(request: HttpRequest, progress: Progress, form: ArgumentsForm) -> HttpResponse:
    made = make_call(
        agent=cast(Agent, progress.agent),
        capability=cast(Capability, progress.capability),
        intent=progress.permitted.intent,
        args=form.arguments(),
        actor=actor_of(request),
    )
    if not made.decision_id:
        raise ValidationError(str((made.answer.body.get("error") or {}).get("message")))
    return _on(progress, "answer", decision=made.decision_id)


_TAKEN: dict[str, Take] = {
    "agent": _register,
    "token": _issue,
    "pack": _pack,
    "policy": _policy,
    "call": _make,
}


def _on(progress: Progress, place: str, **changes: str) -> HttpResponse:
    """Back to the page, with the same things picked."""
    picked = {
        "agent": progress.agent.agent_id if progress.agent else "",
        "capability": str(progress.capability.pk) if progress.capability else "",
    }
    query = urlencode({name: value for name, value in {**picked, **changes}.items() if value})
    return HttpResponseRedirect(f"{reverse('admin:gateway_first_call')}?{query}#{place}")


# --- the page ------------------------------------------------------------------------------------
@sensitive_variables("grant")
def _page(
    request: HttpRequest,
    progress: Progress,
    filled: Forms,
    *,
    grant: IssuedGrant | None = None,
    status: int = 200,
) -> HttpResponse:
    made = made_call(request, progress.tenant.pk, request.GET.get("decision", "")[:40])
    page = (made or {}).get("page") or {}
    context = {
        **page,  # what the parts of a call's page read
        **frame(request, "Make your first governed call"),
        "steps": steps_of(request, progress),
        "progress": progress,
        "forms": filled,
        "acts": runs_the_tenant(request),
        "made": made,
        "grant": grant.row if grant else None,
        "token_parts": _breakable(grant.token) if grant else (),
        "curl": _curl(request, progress) if grant else "",
    }
    return TemplateResponse(request, "gateway/first_call.html", context, status=status)


def _curl(request: HttpRequest, progress: Progress) -> str:
    """Opens a run; the token stands in a variable, so that it stays out of the shell's history."""
    intent = progress.permitted.intent or "INTENT"
    terms = {"tenant_id": progress.tenant.pk, "intent": intent}
    if progress.capability is not None:
        terms["environment"] = progress.capability.environment
    body = orjson.dumps(terms).decode()
    address = request.build_absolute_uri("/api/v1/runs")
    return (
        f'curl -s {address} -H "Authorization: Bearer $TOKEN" '
        f"-H 'Content-Type: application/json' --data {shlex.quote(body)}"
    )


def _breakable(token: str) -> list[str]:
    """Pieces between which a browser may break the line."""
    return [token[start : start + _PIECE] for start in range(0, len(token), _PIECE)]
