"""Adapters: listed, found, registered."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error
from registry.api.base import RegistryList, RegistryView
from registry.api.bodies import NewAdapterBody
from registry.api.examples import ADAPTER
from registry.api.filters import AdapterFilter
from registry.api.serializers import AdapterSerializer
from registry.models import Adapter
from registry.roles import AUTHORS
from registry.selectors import adapters_of, stops_of, with_active_versions
from registry.services.adapters import register_adapter

_NEW = OpenApiExample(
    "A new adapter",
    request_only=True,
    value={"adapter_id": "adp_orders", "name": "Orders", "owner_role": "orders_platform"},
)


class AdapterListView(RegistryList):
    """All adapters of the tenant."""

    roles_by_method = {"POST": AUTHORS}
    queryset = Adapter.objects.none()
    serializer_class = AdapterSerializer
    filterset_class = AdapterFilter
    keyset_ordering = ("adapter_id", "pk")

    def get_queryset(self) -> QuerySet[Adapter]:
        """With what each has published."""
        return with_active_versions(adapters_of(self.tenant_id))

    def get_serializer_context(self) -> dict[str, Any]:
        """With the tenant's kill switches."""
        return {**super().get_serializer_context(), "stops": stops_of(self.tenant_id)}

    @extend_schema(
        operation_id="adapters_list",
        tags=["adapters"],
        responses=AdapterSerializer(many=True),
        examples=[ADAPTER],
    )
    def get(self, request: Request) -> Response:
        """List adapters with what each has published in every environment."""
        return self.page()

    @extend_schema(
        operation_id="adapters_register",
        tags=["adapters"],
        request=NewAdapterBody,
        responses={201: AdapterSerializer},
        examples=[_NEW, ADAPTER],
    )
    def post(self, request: Request) -> Response:
        """Register an adapter without a version; sending a first manifest does it too."""
        made = register_adapter(
            tenant_id=self.tenant_id, actor=self.principal.as_actor(), **self.body(NewAdapterBody)
        )
        location = f"{request.path}/{made.adapter_id}"
        return Response(_rendered(made), status=201, headers={"Location": location})


class AdapterView(RegistryView):
    """One adapter."""

    @extend_schema(
        operation_id="adapters_retrieve",
        tags=["adapters"],
        responses=AdapterSerializer,
        examples=[ADAPTER],
    )
    def get(self, request: Request, adapter_id: str) -> Response:
        """One adapter and what it has published."""
        return Response(_rendered(self.adapter()))


def _rendered(adapter: Adapter) -> Any:
    found = with_active_versions(adapters_of(adapter.tenant_id)).filter(pk=adapter.pk).first()
    if found is None:
        raise coded_error("request.not_found")
    return AdapterSerializer(found, context={"stops": stops_of(adapter.tenant_id)}).data
