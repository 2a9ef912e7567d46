"""How gates are listed: one line each, or their versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest

from approvals.models import GateVersion
from contextos.adminkit.tenancy import acting_tenant
from contextos.review.states import VersionState


class ShownFilter(admin.SimpleListFilter):
    """One line per gate, unless versions are asked for."""

    title = "shown"
    parameter_name = "shown"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every version, or those of one state."""
        states = [(str(value), str(label)) for value, label in VersionState.choices]
        return [("all", "every version"), *states]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Name the default for what it is."""
        for number, choice in enumerate(super().choices(changelist)):
            yield {**choice, "display": "one line per gate"} if number == 0 else choice

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The newest of each gate without a choice; a search looks at every version."""
        value = self.value()
        if value in VersionState.values:
            return queryset.filter(state=value)
        if value == "all" or request.GET.get("q"):
            return queryset
        newest = same_gate().order_by("-version_id").values("version_id")
        return queryset.filter(version_id=Subquery(newest[:1]))


def gates_in_review(request: HttpRequest) -> str:
    """How many versions wait for a reviewer, for those who review; nothing when none does."""
    if not request.user.has_perm("approvals.review_gateversion"):
        return ""
    tenant = acting_tenant(request)
    rows = GateVersion.objects.filter(
        tenant_id=tenant.pk if tenant else None, state=VersionState.IN_REVIEW
    )
    count = rows.count()
    return str(count) if count else ""


def same_gate() -> QuerySet[GateVersion]:
    """The other versions of the gate of an outer row."""
    return GateVersion.objects.filter(tenant=OuterRef("tenant"), gate_id=OuterRef("gate_id"))
