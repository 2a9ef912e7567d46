"""Identity's part of the front page: what is about to run out, who is locked out, first steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant, rows_of_tenant
from contextos.identity.models import Agent, IssuedToken, Membership, User
from contextos.identity.models.tokens import TokenKind
from contextos.identity.roles import in_words
from contextos.identity.second_factor import FEW_RECOVERY_CODES, recovery_codes_left

SHOWN = 5
TOKEN_NOTICE = timedelta(days=7)
ROLE_NOTICE = timedelta(days=14)


def few_recovery_codes(request: HttpRequest) -> Panel | None:
    """The person's own codes, before the last one is gone."""
    left = recovery_codes_left(request.user) if isinstance(request.user, User) else 0
    if left > FEW_RECOVERY_CODES:
        return None
    text = "No recovery codes left" if left == 0 else f"Only {left} recovery codes left"
    row = Row(
        text=text,
        detail="Make new ones while you still have your phone.",
        url=reverse("admin:account_recovery_codes"),
        label="your account",
        tone="warning",
    )
    return Panel(title="Your second factor", rows=[row])


def expiring_tokens(request: HttpRequest) -> Panel | None:
    """Tokens that stop working within a week."""
    if not may(request, "view", IssuedToken):
        return None
    soon = timezone.now() + TOKEN_NOTICE
    # Tokens that live shorter than the notice are meant to run out; a warning would be noise.
    long_lived = IssuedToken.objects.usable().filter(
        issued_at__lte=F("expires_at") - TOKEN_NOTICE, expires_at__lte=soon
    )
    tokens = _here(request, long_lived)
    rows = [
        Row(
            text=str(token),
            detail=f"expires {relative(token.expires_at)}",
            url=admin_url(IssuedToken, "change", token.pk),
            label="expires soon",
            tone="warning",
        )
        for token in tokens.order_by("expires_at")[:SHOWN]
    ]
    return Panel("Tokens about to expire", rows, tokens.count(), admin_url(IssuedToken))


def ending_memberships(request: HttpRequest) -> Panel | None:
    """Roles that end within two weeks."""
    if not may(request, "view", Membership):
        return None
    soon = timezone.now() + ROLE_NOTICE
    ending = _here(request, Membership.objects.current().filter(valid_until__lte=soon))
    rows = [
        Row(
            text=f"{membership.user} as {in_words(membership.role.name)}",
            detail=f"ends {relative(membership.valid_until)}" if membership.valid_until else "",
            url=admin_url(Membership, "change", membership.pk),
            label="ends soon",
            tone="info",
        )
        for membership in ending.select_related("user", "role").order_by("valid_until")[:SHOWN]
    ]
    return Panel("Roles about to end", rows, ending.count(), admin_url(Membership))


def agents_without_token(request: HttpRequest) -> Panel | None:
    """Agents that can't call anything, because nobody issued them a token."""
    if not (may(request, "view", Agent) and may(request, "view", IssuedToken)):
        return None
    token = IssuedToken.objects.usable().filter(
        kind=TokenKind.AGENT, tenant=OuterRef("tenant"), subject=OuterRef("agent_id")
    )
    idle = _here(request, Agent.objects.filter(~Exists(token), is_active=True))
    rows = [
        Row(
            text=agent.name,
            detail=f"{agent.agent_id}: no usable token, so it can't call anything",
            url=admin_url(Agent, "change", agent.pk),
            label="no token",
        )
        for agent in idle[:SHOWN]
    ]
    return Panel("Agents without a token", rows, idle.count(), admin_url(Agent))


def locked_out_people(request: HttpRequest) -> Panel | None:
    """Sign-ins of this tenant's people that are paused after wrong passwords."""
    if not may(request, "view", User):
        return None
    since = timezone.now() - (get_cool_off(request) or timedelta(minutes=15))
    names = _here(request, Membership.objects.current()).values("user__username")
    paused = AccessAttempt.objects.filter(
        failures_since_start__gte=settings.AXES_FAILURE_LIMIT,
        attempt_time__gte=since,
        username__in=names,
    ).order_by("-attempt_time")
    rows = [
        Row(
            text=attempt.username,
            detail=f"from {attempt.ip_address}, {relative(attempt.attempt_time)}",
            label="locked out",
            tone="danger",
        )
        for attempt in paused[:SHOWN]
    ]
    return Panel("Locked-out sign-ins", rows, paused.count())


def first_steps(request: HttpRequest) -> Panel | None:
    """What a new tenant needs before the first agent can call anything."""
    if acting_tenant(request) is None or not may(request, "add", Agent):
        return None
    people = _here(request, Membership.objects.current()).values("user").distinct().count()
    agents = _here(request, Agent.objects.all()).exists()
    tokens = _here(request, IssuedToken.objects.filter(kind=TokenKind.AGENT)).exists()
    return Panel(
        "",
        [
            Row("Protect your account", "A second factor guards every sign-in.", done=True),
            Row(
                "Give a colleague a role",
                "One person can't both ask and approve, so a tenant needs at least two.",
                url=admin_url(Membership, "add"),
                done=people > 1,
            ),
            Row(
                "Register an agent",
                "An agent is a workload with an accountable owner and a highest mode.",
                url=admin_url(Agent, "add"),
                done=agents,
            ),
            Row(
                "Issue its first token",
                "The agent shows it with every call; you can narrow and revoke it.",
                url=admin_url(IssuedToken),
                done=tokens,
            ),
        ],
    )


def _here(request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows_of_tenant(rows, "tenant", acting_tenant(request))


register_panel(key="identity.codes", column="waiting", build=few_recovery_codes, order=10)
register_panel(key="identity.tokens", column="waiting", build=expiring_tokens, order=50)
register_panel(key="identity.roles", column="waiting", build=ending_memberships, order=60)
register_panel(key="identity.idle_agents", column="waiting", build=agents_without_token, order=70)
register_panel(key="identity.locked", column="failing", build=locked_out_people, order=90)
register_panel(key="identity.start", column="start", build=first_steps, order=10)
