"""The catalogue of published capabilities."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.base import RegistryList
from registry.api.examples import CAPABILITY
from registry.api.filters import CapabilityFilter
from registry.api.serializers import CapabilitySerializer
from registry.models import Capability
from registry.selectors import catalogue, stops_of


class CapabilityListView(RegistryList):
    """Everything published in the tenant."""

    queryset = Capability.objects.none()
    serializer_class = CapabilitySerializer
    filterset_class = CapabilityFilter
    keyset_ordering = ("capability_id", "pk")

    def get_queryset(self) -> QuerySet[Capability]:
        """With version and adapter, but without the signed document."""
        rows = catalogue(self.tenant_id).select_related("version__adapter")
        return rows.defer("version__envelope", "version__rollout_notes")

    def get_serializer_context(self) -> dict[str, Any]:
        """With the tenant's kill switches."""
        return {**super().get_serializer_context(), "stops": stops_of(self.tenant_id)}

    @extend_schema(
        operation_id="capabilities_list",
        tags=["capabilities"],
        responses=CapabilitySerializer(many=True),
        examples=[CAPABILITY],
    )
    def get(self, request: Request) -> Response:
        """Browse published capabilities by class, mode, adapter, environment, domain, intent."""
        return self.page()
