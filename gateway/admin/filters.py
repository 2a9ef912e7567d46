"""Filters of runs and calls; choices are known in advance or read from small tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from contextos.adminkit.tenancy import acting_tenant
from contextos.core.modes import ApprovalMode
from contextos.identity.models import Agent
from gateway.states import OPEN, CallState
from registry.admin.filters import MOST_CHOICES, AdapterFilter, EnvironmentFilter, Lookups
from registry.models import Capability

__all__ = [
    "AgentFilter",
    "AttentionFilter",
    "BudgetFilter",
    "CallAdapterFilter",
    "CapabilityFilter",
    "CreatedFilter",
    "EnvironmentFilter",
    "InUseFilter",
    "ModeFilter",
    "StateFilter",
]


class _ColumnFilter(admin.SimpleListFilter):
    """Rows whose column has the chosen value."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Exactly that value."""
        value = self.value()
        return queryset.filter(**{self.column: value}) if value else queryset


class StateFilter(admin.SimpleListFilter):
    """Where a call stands."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Every state, and all that is not over."""
        return [("open", "Not over yet"), *((str(v), str(label)) for v, label in CallState.choices)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The chosen state or states."""
        if self.value() == "open":
            return queryset.filter(state__in=OPEN)
        return queryset.filter(state=self.value()) if self.value() else queryset


class AttentionFilter(admin.SimpleListFilter):
    """What somebody has to look at."""

    title = "needs a person"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The two kinds."""
        return [("unknown", "outcome unknown"), ("dead", "dead letter")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of that kind."""
        if self.value() == "unknown":
            return queryset.filter(state=CallState.UNKNOWN_OUTCOME)
        return queryset.filter(dead_letter=True) if self.value() == "dead" else queryset


class CapabilityFilter(_ColumnFilter):
    """By capability, as long as there are not too many to list."""

    title = "capability"
    parameter_name = "capability"
    column = "capability_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """What the tenant has published."""
        tenant = acting_tenant(request)
        rows = Capability.objects.filter(tenant_id=tenant.pk if tenant else None, is_active=True)
        names = rows.order_by("capability_id").values_list("capability_id", flat=True).distinct()
        return [(name, name) for name in names[:MOST_CHOICES]]


class CallAdapterFilter(AdapterFilter):
    """By adapter, whatever its version."""

    column = "adapter_id"


class ModeFilter(_ColumnFilter):
    """By the mode a call ran in."""

    title = "effective mode"
    parameter_name = "mode"
    column = "mode_effective"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The five modes in order of risk."""
        return [(mode.value, mode.value.replace("_", " ")) for mode in ApprovalMode]


class AgentFilter(_ColumnFilter):
    """By agent, as long as there are not too many to list."""

    title = "agent"
    parameter_name = "agent"
    column = "agent_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The tenant's agents."""
        tenant = acting_tenant(request)
        rows = Agent.objects.filter(tenant_id=tenant.pk if tenant else None).order_by("agent_id")
        return [(name, name) for name in rows.values_list("agent_id", flat=True)[:MOST_CHOICES]]


class CreatedFilter(admin.SimpleListFilter):
    """By age; any other range goes by `created_at__gte` and `created_at__lt` in the address."""

    title = "created"
    parameter_name = "created"
    spans = {
        "hour": ("in the last hour", timedelta(hours=1)),
        "day": ("in the last 24 hours", timedelta(days=1)),
        "week": ("in the last 7 days", timedelta(days=7)),
        "month": ("in the last 30 days", timedelta(days=30)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Four spans."""
        return [(name, label) for name, (label, _) in self.spans.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Not older than that."""
        span = self.spans.get(self.value() or "")
        return (
            queryset if span is None else queryset.filter(created_at__gte=timezone.now() - span[1])
        )


class BudgetFilter(admin.SimpleListFilter):
    """Runs by whether they can still call."""

    title = "time left"
    parameter_name = "left"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Open or over."""
        return [("open", "still open"), ("over", "over")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """By the last moment of the run."""
        now = timezone.now()
        if self.value() == "open":
            return queryset.filter(expires_at__gt=now)
        return queryset.filter(expires_at__lte=now) if self.value() == "over" else queryset


class InUseFilter(admin.SimpleListFilter):
    """Revoked ones are history: shown when asked for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The other two; in use is where one begins."""
        return [("revoked", "Revoked"), ("all", "All")]

    def choices(self, changelist: Any) -> Any:
        """Names the beginning for what it is."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": "In use"} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """In use unless told otherwise."""
        if self.value() == "all":
            return queryset
        return queryset.filter(revoked_at__isnull=self.value() != "revoked")
