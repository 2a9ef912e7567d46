"""Filters of the registry's lists; choices are known in advance or read from small tables."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from contextos.adminkit.tenancy import acting_tenant
from contextos.core.modes import ApprovalMode, CapabilityClass
from contextos.identity.models.tenants import EnvironmentName
from contextos.review.states import VersionState
from registry.models import Adapter, AdapterVersion, Capability, KillSwitch

MOST_CHOICES = 200
Lookups = list[tuple[str, str]]


class _ExactFilter(admin.SimpleListFilter):
    """Rows whose column has the chosen value."""

    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Exactly that value."""
        value = self.value()
        return queryset.filter(**{self.column: value}) if value else queryset


class ModeFilter(_ExactFilter):
    """By declared highest mode."""

    title = "highest mode"
    parameter_name = "mode"
    column = "approval_mode"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The five modes in order of risk."""
        return [(mode.value, mode.value.replace("_", " ")) for mode in ApprovalMode]


class VersionModeFilter(ModeFilter):
    """By the riskiest mode of a version."""

    column = "highest_mode"


class ClassFilter(_ExactFilter):
    """By capability class."""

    title = "class"
    parameter_name = "class"
    column = "capability_class"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The five classes."""
        return [(item.value, item.value.replace("_", " ")) for item in CapabilityClass]


class EnvironmentFilter(_ExactFilter):
    """By environment."""

    title = "environment"
    parameter_name = "environment"
    column = "environment"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The four environments."""
        return [(str(value), str(label)) for value, label in EnvironmentName.choices]


class AdapterFilter(_ExactFilter):
    """By adapter, as long as there are not too many to list."""

    title = "adapter"
    parameter_name = "adapter"
    column = "version__adapter__adapter_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The tenant's adapters."""
        tenant = acting_tenant(request)
        rows = Adapter.objects.filter(tenant_id=tenant.pk if tenant else None)
        names = rows.values_list("adapter_id", flat=True)[:MOST_CHOICES]
        return [(name, name) for name in names]


class DomainFilter(_ExactFilter):
    """By business domain."""

    title = "domain"
    parameter_name = "domain"
    column = "domain"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The domains in use."""
        return _in_use(request, self.column)


class GateFilter(_ExactFilter):
    """By approval gate."""

    title = "approval gate"
    parameter_name = "gate"
    column = "gate"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The gates in use."""
        return _in_use(request, self.column)


def _in_use(request: HttpRequest, column: str) -> Lookups:
    tenant = acting_tenant(request)
    rows = Capability.objects.filter(tenant_id=tenant.pk if tenant else None, is_active=True)
    named = rows.exclude(**{column: ""}).order_by(column)
    return [(v, v) for v in named.values_list(column, flat=True).distinct()[:MOST_CHOICES]]


class PublicationFilter(admin.SimpleListFilter):
    """Published now, unless everything is asked for."""

    title = "published"
    parameter_name = "published"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """The exception."""
        return [("all", "every version, also drafts")]

    def choices(self, changelist: Any) -> Any:
        """Name the default for what it is."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": "published now"} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Without a choice only what agents can reach."""
        return queryset if self.value() == "all" else queryset.filter(is_active=True)


class StateFilter(admin.SimpleListFilter):
    """Where a version stands; without a choice what waits for reviewers."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Every state, and all of them."""
        states = [(str(value), str(label)) for value, label in VersionState.choices]
        others = [item for item in states if item[0] != VersionState.IN_REVIEW]
        return [*others, ("all", "All states")]

    def choices(self, changelist: Any) -> Any:
        """Name the default for what it is."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": "In review"} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The chosen state."""
        value = self.value()
        if value == "all":
            return queryset
        return queryset.filter(state=value or VersionState.IN_REVIEW)


def state_list_name(chosen: str) -> str:
    """What a list of versions is called under the state filter."""
    if chosen == "all":
        return "All versions"
    known = chosen in VersionState.values
    label = VersionState(chosen).label if known else VersionState.IN_REVIEW.label
    return f"Versions: {label.lower()}" if known else f"Versions {label.lower()}"


class AdapterStateFilter(admin.SimpleListFilter):
    """What an adapter is up to."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """States that some version of it has, and being stopped."""
        return [
            (VersionState.PUBLISHED.value, "published"),
            (VersionState.IN_REVIEW.value, "in review"),
            (VersionState.APPROVED.value, "approved, not published yet"),
            (VersionState.DRAFT.value, "with a draft"),
            ("stopped", "stopped by a kill switch"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Adapters with such a version."""
        value = self.value()
        if not value:
            return queryset
        if value == "stopped":
            switch = KillSwitch.objects.filter(
                tenant=OuterRef("tenant"),
                scope="adapter",
                target_id=OuterRef("adapter_id"),
                lifted_at__isnull=True,
            )
            return queryset.filter(Exists(switch))
        return queryset.filter(Exists(_versions(state=value)))


class AdapterEnvironmentFilter(EnvironmentFilter):
    """Where an adapter is published."""

    title = "published in"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Adapters with an active version there."""
        value = self.value()
        if not value:
            return queryset
        active = _versions(environment=value, state=VersionState.PUBLISHED)
        return queryset.filter(Exists(active))


class AdapterModeFilter(ModeFilter):
    """The riskiest mode an adapter has published."""

    title = "highest published mode"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Adapters with an active version of that mode."""
        value = self.value()
        if not value:
            return queryset
        active = _versions(highest_mode=value, state=VersionState.PUBLISHED)
        return queryset.filter(Exists(active))


class SwitchFilter(admin.SimpleListFilter):
    """Thrown switches, unless all are asked for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Thrown or lifted."""
        return [("thrown", "stopping calls now"), ("lifted", "lifted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The chosen ones."""
        if self.value() in ("thrown", "lifted"):
            return queryset.filter(lifted_at__isnull=self.value() == "thrown")
        return queryset


def _versions(**wanted: Any) -> QuerySet[AdapterVersion]:
    return AdapterVersion.objects.filter(adapter=OuterRef("pk"), **wanted)


class DocumentStateFilter(_ExactFilter):
    """Where a pack or a bundle stands."""

    title = "state"
    parameter_name = "state"
    column = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Every state."""
        return [(str(value), str(label)) for value, label in VersionState.choices]


class ShadowFilter(admin.SimpleListFilter):
    """Published bundles by what they do."""

    title = "effect"
    parameter_name = "effect"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        """Deciding or watching."""
        return [("decides", "decides"), ("watches", "watches only")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Of what is published."""
        if self.value() is None:
            return queryset
        return queryset.filter(state=VersionState.PUBLISHED, shadow=self.value() == "watches")
