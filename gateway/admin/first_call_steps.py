"""The six steps to a first governed call in words: done, next, or what stands in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.display import relative
from contextos.adminkit.links import admin_url, may
from contextos.core.text import single_line
from contextos.identity.models import Agent, IssuedToken, Membership, Tenant, User
from contextos.review.models import ReviewedVersion
from contextos.review.states import VersionState
from gateway.admin.links import Link, call_url
from gateway.first_call.progress import Progress
from registry.models import AdapterVersion, Capability, ContextPackVersion, PolicyBundleVersion

MOST_DRAFTS = 3
_ON_THE_WAY = (VersionState.DRAFT, VersionState.IN_REVIEW, VersionState.APPROVED)


@dataclass(frozen=True, slots=True)
class Errand:
    """A version that is under way: who has to do what with it, and where."""

    link: Link
    state: str
    words: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step; `blocked` says why it can't be taken yet."""

    key: str
    title: str
    done: bool
    words: str
    blocked: str = ""
    links: tuple[Link, ...] = ()
    errands: tuple[Errand, ...] = ()
    under_way: tuple[str, ...] = ()  # of what can be drafted here, the drafts that there are
    state: str = ""  # done, next, open or blocked


def steps_of(request: HttpRequest, progress: Progress) -> list[Step]:
    """In the order in which each rests on those before it."""
    steps = [
        _tenant(request, progress),
        _agent(request, progress),
        _token(request, progress),
        _adapter(request, progress),
        _pack(request, progress),
        _call(progress),
    ]
    return list(_with_states(steps))


def _with_states(steps: Iterable[Step]) -> Iterator[Step]:
    waiting = True  # for the first step that can be taken
    for step in steps:
        if step.done:
            yield replace(step, state="done")
        elif step.blocked:
            yield replace(step, state="blocked")
        else:
            yield replace(step, state="next" if waiting else "open")
            waiting = False


# --- the steps -----------------------------------------------------------------------------------
def _tenant(request: HttpRequest, progress: Progress) -> Step:
    tenant, alone = progress.tenant, len(progress.reviewers) < 2
    title = f"Tenant: {single_line(tenant.name, limit=80)}"
    if not progress.environment_open:
        words = f"Its default environment, {tenant.default_environment}, is switched off or absent."
        links = _links(request, (Tenant, "change", tenant.pk, "Open the tenant"))
        return Step("tenant", title, done=False, words=words, links=links)
    if alone:
        words = (
            "Nobody approves what they wrote, so two people are needed who may review: give a "
            "colleague the role manifest reviewer. The steps below can be begun meanwhile."
        )
        links = _links(
            request,
            (User, "add", None, "Add a person"),
            (Membership, "add", None, "Give a colleague a role"),
        )
        return Step("tenant", title, done=False, words=words, links=links)
    names = _names(progress.reviewers)
    words = f"Runs go to {tenant.default_environment} unless they name another. Reviewers: {names}."
    return Step("tenant", title, done=True, words=words)


def _agent(request: HttpRequest, progress: Progress) -> Step:
    agent = progress.agent
    if agent is None and not progress.has_people:
        why = "Nobody holds a role here yet, and an agent needs a person who answers for it."
        return Step("agent", "Agent", done=False, words="", blocked=why)
    if agent is None:
        words = "An agent is a workload that proposes calls, with a person who answers for it."
        return Step("agent", "Agent", done=False, words=words)
    words = f"{single_line(agent.name, limit=80)} acts as {single_line(agent.role, limit=64)}."
    links = _links(request, (Agent, "change", agent.pk, "Open the agent"))
    return Step("agent", "Agent", done=True, words=words, links=links)


def _token(request: HttpRequest, progress: Progress) -> Step:
    if progress.agent is None:
        return Step("token", "Token", done=False, words="", blocked="There is no agent yet.")
    if progress.token is None:
        words = "The agent shows it with every call. It is shown to you once and kept nowhere."
        return Step("token", "Token", done=False, words=words)
    links = _links(request, (IssuedToken, "change", progress.token.pk, "Open the token"))
    words = f"It has one that expires {relative(progress.token.expires_at)}."
    return Step("token", "Token", done=True, words=words, links=links)


def _adapter(request: HttpRequest, progress: Progress) -> Step:
    found = progress.capability
    errands = _errands(request, progress, AdapterVersion)
    if found is not None:
        version = found.version
        words = f"{found.capability_id} of {version} reads in {found.environment}."
        links = _links(request, (AdapterVersion, "change", version.pk, "Open the version"))
        return Step("adapter", "Adapter", done=True, words=words, links=links)
    words = (
        "No published adapter offers a read here yet. Write a manifest, or import one; somebody "
        "else reviews it, then it is published. Whatever only reads can then be chosen here."
    )
    if Capability.objects.filter(tenant=progress.tenant, is_active=True).exists():
        words = (
            "What is published can change things, or belongs to an environment that this tenant "
            "has not open. A first call should only read."
        )
    links = (
        *_page(request, "registry.add_adapterversion", AdapterVersion, "Write a manifest"),
        *_links(request, (AdapterVersion, "changelist", None, "All versions")),
    )
    return Step("adapter", "Adapter", done=False, words=words, links=links, errands=errands)


def _pack(request: HttpRequest, progress: Progress) -> Step:
    title, missing = "Context Pack and policy", _missing(progress)
    if missing:
        return Step("pack", title, done=False, words="", blocked=missing)
    if progress.permitted.intent:
        words = f"A run for {single_line(progress.permitted.intent, limit=100)} may make this read."
        links = _links(
            request,
            (ContextPackVersion, "changelist", None, "Context Packs"),
            (PolicyBundleVersion, "changelist", None, "Policies"),
        )
        return Step("pack", title, done=True, words=words, links=links)
    drafts = {
        "policy": _errands(request, progress, PolicyBundleVersion),
        "pack": _errands(request, progress, ContextPackVersion),
    }
    under_way = tuple(name for name, errands in drafts.items() if errands)
    return Step(
        "pack",
        title,
        done=False,
        words=_not_permitted(progress, drafted=bool(under_way)),
        errands=(*drafts["policy"], *drafts["pack"]),
        under_way=under_way,
    )


def _missing(progress: Progress) -> str:
    if progress.agent is None:
        return "There is no agent yet, and a pack permits things to its role."
    return "" if progress.capability else "There is no read yet that could be permitted."


def _not_permitted(progress: Progress, *, drafted: bool) -> str:
    policy = "" if progress.has_policy else "No policy decides yet, and without one all is denied. "
    refusal = progress.permitted.refusal
    if refusal is None:
        return policy
    advice = "What is under way counts once it is published." if drafted else refusal.remediation
    return f"{policy}{refusal.message} {advice}"


def _call(progress: Progress) -> Step:
    title = "First governed call"
    if progress.call is not None:
        words = f"{progress.call.capability_id} came back {relative(progress.call.created_at)}."
        links = (Link("Open the first call", call_url(progress.call.pk)),)
        return Step("call", title, done=True, words=words, links=links)
    if not progress.permitted.intent:
        return Step("call", title, done=False, words="", blocked="Nothing permits a read yet.")
    words = "A run is opened and the read is made as the agent, through the gateway."
    return Step("call", title, done=False, words=words)


# --- who has to do what --------------------------------------------------------------------------
def _errands(
    request: HttpRequest, progress: Progress, model: type[ReviewedVersion]
) -> tuple[Errand, ...]:
    if not may(request, "view", model):
        return ()
    rows: Any = model._default_manager.filter(tenant_id=progress.tenant.pk, state__in=_ON_THE_WAY)
    rows = rows.select_related("author").defer("envelope").order_by("-created_at")
    return tuple(_errand(progress, version) for version in rows[:MOST_DRAFTS])


def _errand(progress: Progress, version: Any) -> Errand:
    state = VersionState(version.state)
    page, address = version._meta.model_name, admin_url(type(version), "change", version.pk)
    if state is VersionState.IN_REVIEW:
        address = reverse(f"admin:registry_{page}_review", args=[version.pk])
    text = f"{version._meta.verbose_name} {single_line(str(version), limit=120)}"
    return Errand(Link(text, address), state.label, _duty(progress, version, state))


def _duty(progress: Progress, version: Any, state: VersionState) -> str:
    if state is VersionState.DRAFT:
        return f"{version.author} reads it over and submits it for review."
    if state is VersionState.APPROVED:
        return "A platform admin signs and publishes it."
    others = progress.other_reviewers(frozenset(version.editors))
    if not others:
        return "Nobody here may review it: whoever wrote it can't. Give a colleague that role."
    return f"Somebody who did not write it reviews it: {_names(others)}."


def _names(people: Iterable[Any]) -> str:
    return ", ".join(single_line(str(person), limit=60) for person in list(people)[:5])


# --- links ---------------------------------------------------------------------------------------
def _links(request: HttpRequest, *wanted: tuple[Any, Any, Any, str]) -> tuple[Link, ...]:
    """Only pages that the person may open."""
    return tuple(
        Link(text, admin_url(model, page, pk))
        for model, page, pk, text in wanted
        if may(request, "add" if page == "add" else "view", model)
    )


def _page(
    request: HttpRequest, permission: str, model: type[ReviewedVersion], text: str
) -> tuple[Link, ...]:
    if not request.user.has_perm(permission):
        return ()
    return (Link(text, reverse(f"admin:registry_{model._meta.model_name}_new")),)
