"""The demo world: one tenant, its people, its agent, and the tokens a script needs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from contextos.core.events import automation
from contextos.core.modes import ApprovalMode
from contextos.demo.approvals import build_approvals
from contextos.demo.people import RESIDENTS, Resident, SignIns, load_or_make_sign_ins, settle
from contextos.demo.policies import build_policies
from contextos.demo.registry import build_registry
from contextos.demo.upstreams import build_upstreams
from contextos.identity.models import Agent, Tenant, User
from contextos.identity.services.agents import register_agent
from contextos.identity.services.tenants import add_environment, create_tenant
from contextos.identity.services.tokens import issue_agent_token, issue_user_token

TENANT_ID = "tenant_acme_prod"
AGENT_ID = "agent_support_refunds"
DELEGATING_PERSON = "support"
APPROVERS = ("fin1", "fin2")
TOKEN_LIFETIME = timedelta(hours=24)
BUILDER = automation("demo")


@dataclass(frozen=True, slots=True)
class World:
    """What the demo made, and the secrets it may tell."""

    sign_ins: SignIns
    people: Mapping[str, User]
    agent_token: str
    user_token: str
    approver_tokens: Mapping[str, str]

    def ready_object(self, *, url: str) -> dict[str, Any]:
        """The object of the ready-file; surfaces not built yet are null."""
        return {
            "url": url,
            "mcp_url": None,
            "tenant_id": TENANT_ID,
            "agent_token": self.agent_token,
            "user_token": self.user_token,
            "user_id": self.people[DELEGATING_PERSON].user_id,
            "approver_tokens": dict(self.approver_tokens),
            "adapter_token": None,
            "users": {name: dict(sign_in) for name, sign_in in self.sign_ins.items()},
        }

    def greeting(self, *, url: str, waiting_url: str) -> str:
        """What a person reads when everything answers."""
        return "\n".join(
            [
                "",
                f"  ContextOS is ready:  {url}/admin/",
                f"  Scripts that wait for a call (`Prefer: wait`) ask  {waiting_url}",
                *_mail_words(),
                "",
                "  Sign in with a name and password below, then with the six digits of an",
                "  authenticator app that holds the secret. Without a phone, this prints them:",
                f"    .venv/bin/python manage.py demo_code admin{_data_dir_option()}",
                "",
                f"    {'name':<10} {'password':<18} authenticator secret",
                *(line for resident in RESIDENTS for line in self._introduced(resident)),
                "",
                "  Ctrl-C stops everything. Tokens for scripts are in the ready-file.",
                "",
            ]
        )

    def _introduced(self, resident: Resident) -> tuple[str, str]:
        sign_in = self.sign_ins[resident.username]
        return (
            f"    {resident.username:<10} {sign_in['password']:<18} {sign_in['otp_secret']}",
            f"    {'':<10} {resident.full_name} {resident.does}",
        )


def _mail_words() -> tuple[str, ...]:
    if settings.EMAIL_HOST:
        return ()
    return (f"  E-mail is not sent; read it in  {settings.EMAIL_FILE_PATH}",)


def _data_dir_option() -> str:
    usual = Path(settings.BASE_DIR) / ".demo"
    given = Path(settings.DATA_DIR).absolute()
    return "" if given == usual else f" --data-dir {shlex.quote(str(given))}"


def build_world(*, payments_url: str) -> World:
    """Make what is missing; a second start finds everything and changes nothing but tokens."""
    sign_ins = load_or_make_sign_ins(settings.DATA_DIR / "demo-sign-ins.json")
    _make_tenant()
    people = {
        resident.username: settle(
            resident, sign_ins[resident.username], tenant_id=TENANT_ID, actor=BUILDER
        )
        for resident in RESIDENTS
    }
    _make_agent(people["author"])
    build_registry(people, tenant_id=TENANT_ID)
    build_policies(people, tenant_id=TENANT_ID)
    build_approvals(people, tenant_id=TENANT_ID)
    build_upstreams(people, tenant_id=TENANT_ID, payments_url=payments_url)
    return World(
        sign_ins=sign_ins,
        people=people,
        agent_token=_agent_token(),
        user_token=_person_token(people[DELEGATING_PERSON]),
        approver_tokens={name: _person_token(people[name]) for name in APPROVERS},
    )


def _make_tenant() -> None:
    if Tenant.objects.filter(pk=TENANT_ID).exists():
        return
    create_tenant(tenant_id=TENANT_ID, name="Acme", actor=BUILDER)
    for name in ("development", "production"):
        if not Tenant.objects.get(pk=TENANT_ID).environments.filter(name=name).exists():
            add_environment(tenant_id=TENANT_ID, name=name, actor=BUILDER)


def _make_agent(owner: User) -> None:
    if Agent.objects.filter(tenant_id=TENANT_ID, agent_id=AGENT_ID).exists():
        return
    register_agent(
        tenant_id=TENANT_ID,
        agent_id=AGENT_ID,
        name="Support refunds agent",
        role="support_agent",
        owner=owner,
        actor=BUILDER,
        max_mode=ApprovalMode.DESTRUCTIVE.value,
        agent_urn="urn:contextos:agent:acme:support-refunds",
        workload_identity="spiffe://acme.example/agents/support-refunds",
    )


def _agent_token() -> str:
    return issue_agent_token(
        tenant_id=TENANT_ID, agent_id=AGENT_ID, actor=BUILDER, lifetime=TOKEN_LIFETIME
    ).token


def _person_token(user: User) -> str:
    return issue_user_token(
        tenant_id=TENANT_ID, user=user, actor=BUILDER, lifetime=TOKEN_LIFETIME
    ).token
