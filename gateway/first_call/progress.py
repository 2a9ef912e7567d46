"""How far a tenant is on the way to its first governed call; read anew each time, kept nowhere."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.modes import ApprovalMode, CapabilityClass, is_write_class
from contextos.identity.models import Agent, Environment, IssuedToken, Membership, Tenant, User
from contextos.identity.models.tokens import TokenKind
from gateway.models import ToolCall
from gateway.states import CallState
from registry.compiled import RunTerms, compiled_for, packs_for_run, pins_for_run
from registry.models import Capability
from registry.roles import REVIEWERS
from registry.selectors import generation_of
from registry.tenant_documents import documents_of

MOST_SHOWN = 100
MOST_INTENTS = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person picked; empty or foreign names pick nothing."""

    agent_id: str = ""
    capability: str = ""  # the key of a row: one id may be published in several environments


@dataclass(frozen=True, slots=True)
class Permitted:
    """The intent for which a run may make the read, or why none may."""

    intent: str = ""
    refusal: ContextOSError | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What there is already, and the agent and the read capability that are looked at."""

    tenant: Tenant
    environment_open: bool
    has_people: bool
    reviewers: tuple[User, ...]
    agents: tuple[Agent, ...]
    agent: Agent | None
    token: IssuedToken | None
    capabilities: tuple[Capability, ...]
    capability: Capability | None
    has_policy: bool
    permitted: Permitted
    call: ToolCall | None

    def other_reviewers(self, writers: frozenset[str]) -> tuple[User, ...]:
        """Who may review what these people wrote."""
        return tuple(user for user in self.reviewers if user.user_id not in writers)


def progress_of(tenant: Tenant, wanted: Wanted) -> Progress:
    """The state of every step, from the rows of this tenant alone."""
    agents = tuple(Agent.objects.filter(tenant=tenant, is_active=True)[:MOST_SHOWN])
    agent = next((item for item in agents if item.agent_id == wanted.agent_id), None)
    agent = agent or _with_token_first(tenant, agents)
    reads = _reads(tenant)
    picked = next((item for item in reads if str(item.pk) == wanted.capability), None)
    capability, permitted = _chosen(tenant, agent, reads, picked)
    return Progress(
        tenant=tenant,
        environment_open=_is_open(tenant, tenant.default_environment),
        has_people=Membership.objects.current().filter(tenant=tenant).exists(),
        reviewers=_reviewers(tenant),
        agents=agents,
        agent=agent,
        token=usable_tokens(tenant, agent.agent_id).first() if agent else None,
        capabilities=reads,
        capability=capability,
        has_policy=bool(documents_of(tenant.pk, generation_of(tenant.pk)).bundles),
        permitted=permitted,
        call=first_success(tenant.pk),
    )


def first_success(tenant_id: str) -> ToolCall | None:
    """The earliest call that came back well; None as long as there is none."""
    rows = ToolCall.objects.filter(tenant_id=tenant_id, state=CallState.OK)
    return rows.defer("envelope", "result").order_by("tool_call_id").first()


def usable_tokens(tenant: Tenant, agent_id: str) -> QuerySet[IssuedToken]:
    """Tokens that the agent can show now."""
    rows = IssuedToken.objects.usable().filter(tenant=tenant, kind=TokenKind.AGENT)
    return rows.filter(subject=agent_id)


# --- parts ---------------------------------------------------------------------------------------
def _with_token_first(tenant: Tenant, agents: tuple[Agent, ...]) -> Agent | None:
    tokens = IssuedToken.objects.usable().filter(tenant=tenant, kind=TokenKind.AGENT)
    holders = set(tokens.values_list("subject", flat=True)[:MOST_SHOWN])
    holding = (agent for agent in agents if agent.agent_id in holders)
    return next(holding, agents[0] if agents else None)


def _is_open(tenant: Tenant, environment: str) -> bool:
    rows = Environment.objects.filter(tenant=tenant, name=environment, is_active=True)
    return tenant.is_active and rows.exists()


def _reviewers(tenant: Tenant) -> tuple[User, ...]:
    held = Membership.objects.current().filter(tenant=tenant, role__name__in=REVIEWERS)
    people = User.objects.filter(pk__in=held.values("user"), is_active=True)
    return tuple(people.order_by("username")[:MOST_SHOWN])


def _reads(tenant: Tenant) -> tuple[Capability, ...]:
    """Published capabilities that can't change anything, in environments that are open."""
    opened = Environment.objects.filter(tenant=tenant, is_active=True).values("name")
    rows = Capability.objects.filter(
        tenant=tenant,
        is_active=True,
        approval_mode=ApprovalMode.READ_ONLY.value,
        environment__in=opened,
    ).select_related("version__adapter")
    shown = rows.defer("version__envelope").order_by("capability_id", "environment")[:MOST_SHOWN]
    return tuple(row for row in shown if not _can_write(row))


def _can_write(row: Capability) -> bool:
    return is_write_class(CapabilityClass(row.capability_class), ApprovalMode(row.approval_mode))


def _chosen(
    tenant: Tenant,
    agent: Agent | None,
    reads: tuple[Capability, ...],
    picked: Capability | None,
) -> tuple[Capability | None, Permitted]:
    """What was picked; else the first read that is permitted already; else the first."""
    asked = (picked,) if picked else reads
    if agent is None or not asked:
        return next(iter(asked), None), Permitted()
    first: Permitted | None = None
    for capability in asked:
        found = permitted_for(tenant.pk, agent.role, capability)
        if found.intent:
            return capability, found
        first = first or found
    return asked[0], first or Permitted()


def permitted_for(tenant_id: str, role: str, capability: Capability) -> Permitted:
    """Asked of the registry as a run asks it, for every intent that a published pack serves."""
    generation = generation_of(tenant_id)
    packs = documents_of(tenant_id, generation).packs.values()
    intents = sorted({intent for pack in packs for intent in pack.intents})[:MOST_INTENTS]
    refusal: ContextOSError | None = None
    for intent in intents:
        try:
            _resolve(tenant_id, role, capability, intent, generation)
        except ContextOSError as why:
            if refusal is None or refusal.code == "capability.unknown":
                refusal = why  # that somebody denies it says more than that nobody permits it
        else:
            return Permitted(intent)
    return Permitted(refusal=refusal or coded_error("run.no_pack"))


def _resolve(
    tenant_id: str, role: str, capability: Capability, intent: str, generation: int
) -> None:
    packs = packs_for_run(tenant_id=tenant_id, intent=intent, generation=generation)
    pins = pins_for_run(
        tenant_id=tenant_id,
        environment=capability.environment,
        generation=generation,
        pack_refs=packs,
    )
    terms = RunTerms.of(
        tenant_id=tenant_id,
        environment=capability.environment,
        intent=intent,
        role=role,
        pack_refs=packs,
        pins=pins,
    )
    compiled_for(terms, generation).resolve(capability.capability_id)
