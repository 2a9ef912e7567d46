"""REST of discovery: a live server becomes a draft of its adapter."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import PROBLEM_CONTENT_TYPE
from contextos.identity.models.tenants import EnvironmentName
from contextos.restkit.fields import StrictTextField
from gateway.discovery import discover
from registry.api.base import RegistryView
from registry.api.bodies import Body
from registry.api.views.versions import version_response
from registry.roles import AUTHORS

_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_ASKED = OpenApiExample(
    "An adapter without a version",
    request_only=True,
    value={"environment": "development", "endpoint_ref": "http://127.0.0.1:9000/mcp"},
)


class DiscoverBody(Body):
    """Where; empty for an adapter that has a version."""

    environment = serializers.ChoiceField(choices=EnvironmentName.values, required=False)
    endpoint_ref = StrictTextField(max_length=500, required=False)


class DiscoverView(RegistryView):
    """`adapters/{id}/discover`."""

    roles_by_method = {"POST": AUTHORS}

    @extend_schema(
        operation_id="adapters_discover",
        tags=["adapters"],
        request=DiscoverBody,
        responses={
            201: OpenApiTypes.OBJECT,
            (502, PROBLEM_CONTENT_TYPE): OpenApiResponse(_PROBLEM, "The server gave no answer"),
            (504, PROBLEM_CONTENT_TYPE): OpenApiResponse(_PROBLEM, "The server took too long"),
        },
        examples=[_ASKED],
    )
    def post(self, request: Request, adapter_id: str) -> Response:
        """Ask the adapter's MCP server what it offers: a draft with findings. Grants nothing."""
        asked = self.body(DiscoverBody)
        found = discover(
            tenant_id=self.tenant_id,
            adapter_id=self.adapter().adapter_id,
            author=self.person(),
            actor=self.principal.as_actor(),
            environment=asked.get("environment"),
            endpoint_ref=asked.get("endpoint_ref"),
        )
        place = request.path.removesuffix("discover") + f"versions/{found.version.version_id}"
        answer = version_response(found.version, status=201, headers={"Location": place})
        data: dict[str, Any] = answer.data
        answer.data = {**data, "discovery": found.summary()}
        return answer
