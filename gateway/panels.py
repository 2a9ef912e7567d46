"""The gateway's part of the front page and of the menu: what waits for a person, what failed."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.display import relative
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.text import single_line
from contextos.identity.access import roles_of
from contextos.identity.models import User
from gateway.first_call.progress import first_success
from gateway.models import Breaker, ConsentRequest, ConsentState, ToolCall
from gateway.roles import SETTLERS
from gateway.states import BreakerState, CallState

SHOWN = 5
MOST_COUNTED = 99
LOOKED_AT = 1000  # of the latest calls, so that a quiet tenant's page costs what a busy one's does


# --- the menu --------------------------------------------------------------------------------
def unknown_count(request: HttpRequest) -> str:
    """How many calls have an unknown outcome; nothing when none has."""
    tenant = acting_tenant(request)
    number = _unknown(str(tenant.pk))[: MOST_COUNTED + 1].count() if tenant else 0
    if number > MOST_COUNTED:
        return f"{MOST_COUNTED}+"
    return str(number) if number else ""


# --- the front page --------------------------------------------------------------------------
def unknown_outcomes(request: HttpRequest) -> Panel | None:
    """Calls that a person has to settle, for those who may."""
    tenant = acting_tenant(request)
    if tenant is None or not _settles(request, str(tenant.pk)):
        return None
    return _unknown_panel(str(tenant.pk))


def unknown_to_others(request: HttpRequest) -> Panel | None:
    """The same as a failure, for those who can only watch."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", ToolCall) or _settles(request, str(tenant.pk)):
        return None
    return _unknown_panel(str(tenant.pk))


def _settles(request: HttpRequest, tenant_id: str) -> bool:
    return not SETTLERS.isdisjoint(roles_of(request.user, tenant_id))


def _unknown_panel(tenant_id: str) -> Panel:
    rows = _unknown(tenant_id).order_by("created_at")
    return Panel(
        "Outcomes to reconcile",
        [
            Row(
                text=single_line(call.capability_id, limit=120),
                detail=f"attempts: {call.attempts}, {relative(call.created_at)}",
                url=reverse("admin:gateway_reconcile_call", args=[call.pk]),
                label="unknown",
                tone="danger",
            )
            for call in rows[:SHOWN]
        ],
        total=rows[: MOST_COUNTED + 1].count(),
        more_url=reverse("admin:gateway_reconcile"),
    )


def own_consents(request: HttpRequest) -> Panel | None:
    """Calls that wait for this very person's consent; only where there are any."""
    tenant, user = acting_tenant(request), request.user
    if tenant is None or not isinstance(user, User):
        return None
    rows = ConsentRequest.objects.filter(
        tenant_id=tenant.pk, user_id=user.user_id, state=ConsentState.PENDING
    ).select_related("credential")
    found = list(rows[: MOST_COUNTED + 1])
    if not found:
        return None
    return Panel(
        "Consents you are asked for",
        [
            Row(
                text=single_line(row.capability_id, limit=120),
                detail=f"through {single_line(row.credential.name)}, {relative(row.created_at)}",
                url=reverse("admin:gateway_consent", args=[row.pk]),
                label="consent",
                tone="warning",
            )
            for row in found[:SHOWN]
        ],
        total=len(found),
    )


def dead_letters(request: HttpRequest) -> Panel | None:
    """Calls given up lately."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", ToolCall):
        return None
    latest = ToolCall.objects.filter(tenant_id=tenant.pk).order_by("-tool_call_id")
    recent = latest.values("pk")[:LOOKED_AT]
    rows = ToolCall.objects.filter(pk__in=recent, dead_letter=True).order_by("-tool_call_id")
    found = list(rows.defer("envelope", "result")[: MOST_COUNTED + 1])
    return Panel(
        "Dead letters",
        [
            Row(
                text=single_line(call.capability_id, limit=120),
                detail=f"{call.error_code}, {relative(call.finished_at or call.created_at)}",
                url=admin_url(ToolCall, "change", call.pk),
                label="given up",
                tone="warning",
            )
            for call in found[:SHOWN]
        ],
        total=len(found),
        more_url=reverse("admin:gateway_dead_letters"),
    )


def resting_adapters(request: HttpRequest) -> Panel | None:
    """Adapters whose breaker is not closed."""
    tenant = acting_tenant(request)
    if tenant is None or not may(request, "view", ToolCall):
        return None
    rows = list(_resting(str(tenant.pk))[: MOST_COUNTED + 1])
    return Panel(
        "Adapters at rest",
        [
            Row(
                text=single_line(row.adapter_id, limit=120),
                detail=f"{row.last_code}, {relative(row.opened_at or row.changed_at)}",
                url=reverse("admin:gateway_adapter_health", args=[row.adapter_id]),
                label=row.state.replace("_", " "),
                tone="danger",
            )
            for row in rows[:SHOWN]
        ],
        total=len(rows),
        more_url=reverse("admin:gateway_health"),
    )


def resting_count(request: HttpRequest) -> str:
    """How many adapters rest, for the menu; nothing when none does."""
    tenant = acting_tenant(request)
    number = _resting(str(tenant.pk))[: MOST_COUNTED + 1].count() if tenant else 0
    return str(number) if number else ""


def _resting(tenant_id: str) -> QuerySet[Breaker]:
    rows = Breaker.objects.filter(tenant_id=tenant_id).exclude(state=BreakerState.CLOSED)
    return rows.order_by("adapter_id")


def first_run(request: HttpRequest) -> Panel | None:
    """The getting-started step of the gateway."""
    tenant = acting_tenant(request)
    if tenant is None or not _settles(request, str(tenant.pk)):
        return None
    return Panel(
        "",
        [
            Row(
                "Make your first governed call",
                "Six steps from here to an agent's first answer; leave and come back as you like.",
                url=reverse("admin:gateway_first_call"),
                done=first_success(str(tenant.pk)) is not None,
            )
        ],
    )


def _unknown(tenant_id: str) -> QuerySet[ToolCall]:
    rows = ToolCall.objects.filter(tenant_id=tenant_id, state=CallState.UNKNOWN_OUTCOME)
    return rows.defer("envelope", "result")


register_panel(key="gateway.unknown", column="waiting", build=unknown_outcomes, order=10)
register_panel(key="gateway.consents", column="waiting", build=own_consents, order=5)
register_panel(key="gateway.watched", column="failing", build=unknown_to_others, order=12)
register_panel(key="gateway.resting", column="failing", build=resting_adapters, order=11)
register_panel(key="gateway.dead", column="failing", build=dead_letters, order=15)
register_panel(key="gateway.start", column="start", build=first_run, order=40)
