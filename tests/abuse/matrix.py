"""Two tenants with one of everything, and every REST address tried by everybody on both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from contextos.identity.models import Agent, Tenant, User
from gateway.models import Run
from gateway.states import CallState
from registry.models import AdapterVersion
from tests.abuse.verdicts import BODIES, PEOPLE, QUERIES
from tests.audit.logs import seal_all
from tests.factories import make_agent, make_agent_token, make_member, make_tenant, make_user_token
from tests.gateway.admin.rows import make_call, make_run
from tests.tenant_rows import MAKERS

_PARAMETER = re.compile(r"<str:(\w+)>")
_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Route:
    """One address of the URLconf with the methods that its view has."""

    name: str
    template: str
    methods: tuple[str, ...]

    @property
    def has_object(self) -> bool:
        """Whether it names one thing of a tenant."""
        return bool(_PARAMETER.search(self.template))

    def at(self, things: Mapping[str, str]) -> str:
        """The address of these things."""
        return _PARAMETER.sub(lambda found: things[found[1]], self.template)


def api_routes() -> list[Route]:
    """Every route below /api/v1/."""
    return [
        Route(str(pattern.name), address, _methods(pattern))
        for address, pattern in _walk(get_resolver().url_patterns, "/")
        if address.startswith("/api/v1/")
    ]


def _walk(patterns: Any, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, address)
        else:
            yield address, pattern


def _methods(pattern: URLPattern) -> tuple[str, ...]:
    view: Any = pattern.callback
    while not hasattr(view, "view_class") and hasattr(view, "__wrapped__"):
        view = view.__wrapped__
    kind: Any = getattr(view, "view_class", None) or view.cls
    return tuple(method.upper() for method in _METHODS if hasattr(kind, method))


@dataclass
class Estate:
    """One tenant, everybody in it, and one thing of every kind that REST names."""

    marker: str
    tenant: Tenant = field(init=False)
    agent: Agent = field(init=False)
    people: dict[str, User] = field(init=False)

    def __post_init__(self) -> None:
        self.tenant = make_tenant(f"{self.marker}_prod", name=self.marker)
        self.agent = make_agent(self.tenant, f"{self.marker}_agent")
        self.people = {role: make_member(self.tenant, role) for role in PEOPLE}

    @cached_property
    def things(self) -> dict[str, str]:
        """By the name of the path's parameter."""
        switch_id = self._made("registry.KillSwitch", "switch_id")  # with a published adapter
        run = make_run(self.tenant, agent_id=self.agent.agent_id, intent=self.marker)
        made = {
            "adapter_id": f"adp_{self.marker}",
            "version": "1.0.0",
            "switch_id": switch_id,
            "pack_id": self._made("registry.ContextPackVersion", "pack_id"),
            "bundle_id": self._made("registry.PolicyBundleVersion", "bundle_id"),
            "approval_id": self._made("approvals.ApprovalRequest", "approval_id"),
            "decision_id": self._made("audit.DecisionRow", "decision_id"),
            "export_id": self._made("audit.ExportJob", "export_id"),
            "run_id": run.pk,
            "tool_call_id": self._waiting_call(run),
        }
        seal_all()  # so that there is a checkpoint and a proof to be read
        return made

    def _waiting_call(self, run: Run) -> str:
        version = AdapterVersion.objects.get(adapter__adapter_id=f"adp_{self.marker}")
        capability, state = f"{self.marker}.lookup", CallState.QUEUED
        return make_call(run, capability_id=capability, version_id=version.pk, state=state).pk

    def _made(self, label: str, column: str) -> str:
        return str(getattr(MAKERS[label](self.tenant, self.marker), column))

    def token(self, caller: str) -> str:
        """A fresh token of somebody who has exactly this role."""
        if caller == "agent":
            return make_agent_token(self.agent).token
        return make_user_token(self.people[caller], self.tenant).token


@dataclass(frozen=True, slots=True)
class Answer:
    """What matters of an answer, without what differs between any two."""

    status: int
    text: str

    def without(self, things: Mapping[str, str]) -> str:
        """The body with the names that were asked for, the trace and times taken out."""
        said = re.sub(r'"trace_id":"[0-9a-f]{32}"', '"trace_id":""', self.text)
        for value in sorted(things.values(), key=len, reverse=True):
            said = said.replace(value, "<id>")
        return said


def ask(route: Route, method: str, things: Mapping[str, str], token: str | None) -> Answer:
    """One request whose effects are undone."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with transaction.atomic():
        answer = Client(raise_request_exception=False).generic(
            method,
            route.at(things) + QUERIES.get(route.name, ""),
            b"" if method == "GET" else _body(route.name),
            content_type="application/json",
            headers=headers,
        )
        content = b"".join(answer) if answer.streaming else answer.content
        transaction.set_rollback(True)
    return Answer(answer.status_code, content.decode(errors="replace"))


def _body(name: str) -> bytes:
    return orjson.dumps(BODIES.get(name, {}))


ABSENT = {
    "adapter_id": "adp_nosuchthing",
    "version": "1.0.0",
    "switch_id": "kill_0000000000000000000000000n",
    "pack_id": "nosuchthing",
    "bundle_id": "nosuchthing",
    "approval_id": "apr_0000000000000000000000000n",
    "decision_id": "dec_0000000000000000000000000n",
    "export_id": "exp_0000000000000000000000000n",
    "run_id": "run_0000000000000000000000000n",
    "tool_call_id": "tool_0000000000000000000000000n",
}
