"""Policy bundles by REST, and what they would decide."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error
from contextos.review.signed_documents import document_of
from registry.api.base import RegistryView
from registry.api.bodies import PublishPolicyBody, SimulateBody
from registry.api.document_serializers import (
    PolicyHeadSerializer,
    PolicySerializer,
    PolicySummarySerializer,
    SimulationSerializer,
)
from registry.api.filters import PolicyFilter, PolicyVersionFilter
from registry.api.parsers import ManifestParser
from registry.api.views.documents import DocumentDesk, routes_for
from registry.document_selectors import find_by_ref
from registry.models import PolicyBundleVersion
from registry.roles import READERS
from registry.services import policies
from registry.simulation import Retrial, simulate_input, simulate_recorded

POLICIES = DocumentDesk(
    address="policies",
    model=PolicyBundleVersion,
    services=policies,
    lifecycle=policies.POLICY_LIFECYCLE,
    head=PolicyHeadSerializer,
    summary=PolicySummarySerializer,
    full=PolicySerializer,
    list_filter=PolicyFilter,
    version_filter=PolicyVersionFilter,
    publish_body=PublishPolicyBody,
)
ROUTES = routes_for(POLICIES)

_SIMULATION = OpenApiExample(
    "What would the draft say to this refund?",
    request_only=True,
    value={
        "bundle_ref": "refunds@1.1.0",
        "input": {
            "capability": {
                "capability_id": "payments.issue_refund",
                "adapter_id": "adp_payments",
                "capability_class": "act",
                "approval_mode": "destructive",
                "requires_approval_gate": "GATE_FINANCE_APPROVAL",
            },
            "run": {"intent": "support.refund", "environment": "production"},
            "request": {"args": {"amount_inr": 300, "currency": "INR"}},
        },
    },
)

_LAST_CALLS = OpenApiExample(
    "Which of the last 200 calls would it decide otherwise?",
    request_only=True,
    value={"bundle_ref": "refunds@1.1.0", "last_n": 200},
)


class SimulateView(RegistryView):
    """Decides without any effect."""

    roles_by_method = {"POST": READERS}
    parser_classes = [ManifestParser]

    @extend_schema(
        operation_id="policies_simulate",
        tags=["policies"],
        request=SimulateBody,
        responses=SimulationSerializer,
        examples=[_SIMULATION, _LAST_CALLS],
    )
    def post(self, request: Request) -> Response:
        """Compare a bundle with the published policy, on one input or on the last calls."""
        asked = self.body(SimulateBody)
        bundle = asked["bundle"] if "bundle" in asked else self._stored(asked["bundle_ref"])
        tried = self._tried(bundle, asked)
        answer = {
            "bundle_ref": f"{bundle.get('bundle_id')}@{bundle.get('version')}",
            "total": len(tried.outcomes),
            "changed": len(tried.changed),
            "left_out": tried.left_out,
            "decision": tried.outcomes[0].candidate.verdict() if "input" in asked else None,
            "results": tried.outcomes,
        }
        return Response(SimulationSerializer(answer).data)

    def _tried(self, bundle: dict[str, Any], asked: dict[str, Any]) -> Retrial:
        if "input" in asked:
            one = simulate_input(
                tenant_id=self.tenant_id, bundle=bundle, document=dict(asked["input"])
            )
            return Retrial((one,), left_out=0)
        return simulate_recorded(tenant_id=self.tenant_id, bundle=bundle, count=asked["last_n"])

    def _stored(self, ref: str) -> dict[str, Any]:
        version = find_by_ref(PolicyBundleVersion, self.tenant_id, ref)
        if version is None:
            raise coded_error("request.not_found", message=f"There is no policy bundle {ref}.")
        return document_of(version)
