"""Kill switches: listed, thrown, lifted."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error
from registry.api.base import RegistryList, RegistryView
from registry.api.bodies import ReasonBody, ThrowBody
from registry.api.examples import KILL_SWITCH
from registry.api.filters import KillSwitchFilter
from registry.api.serializers import KillSwitchSerializer
from registry.models import KillSwitch
from registry.roles import SWITCHERS
from registry.services.kill_switches import lift_switch, throw_switch

# The log shows who lifted a switch; why is asked for by pages and may be left out by scripts.
_NO_REASON = "Lifted over REST without a reason."
_THROW = OpenApiExample(
    "Stop one capability",
    request_only=True,
    value={
        "scope": "capability",
        "id": "payments.issue_refund",
        "reason": "Refunds are booked twice; incident 311.",
    },
)
_REASON = OpenApiParameter("reason", str, description="Why; may stand in the body instead.")


class KillSwitchListView(RegistryList):
    """The switches of the tenant."""

    roles_by_method = {"POST": SWITCHERS}
    queryset = KillSwitch.objects.none()
    serializer_class = KillSwitchSerializer
    filterset_class = KillSwitchFilter
    keyset_ordering = ("-switch_id",)

    def get_queryset(self) -> QuerySet[KillSwitch]:
        """Newest first."""
        return KillSwitch.objects.filter(tenant_id=self.tenant_id)

    @extend_schema(
        operation_id="kill_switches_list",
        tags=["kill switches"],
        responses=KillSwitchSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List thrown switches; `state=all` shows lifted ones too."""
        return self.page()

    @extend_schema(
        operation_id="kill_switches_throw",
        tags=["kill switches"],
        request=ThrowBody,
        responses={201: KillSwitchSerializer},
        examples=[_THROW, KILL_SWITCH],
    )
    def post(self, request: Request) -> Response:
        """Stop an adapter, a version, a capability or the tenant from the next call on."""
        said = self.body(ThrowBody)
        thrown = throw_switch(
            tenant_id=self.tenant_id,
            scope=said["scope"],
            target_id=said["id"],
            reason=said["reason"],
            actor=self.principal.as_actor(),
        )
        location = f"{request.path}/{thrown.switch_id}"
        return Response(
            KillSwitchSerializer(thrown).data, status=201, headers={"Location": location}
        )


class KillSwitchView(RegistryView):
    """One switch."""

    roles_by_method = {"DELETE": SWITCHERS}

    @extend_schema(
        operation_id="kill_switches_retrieve",
        tags=["kill switches"],
        responses=KillSwitchSerializer,
        examples=[KILL_SWITCH],
    )
    def get(self, request: Request, switch_id: str) -> Response:
        """One switch, thrown or lifted."""
        return Response(KillSwitchSerializer(self._switch(switch_id)).data)

    @extend_schema(
        operation_id="kill_switches_lift",
        tags=["kill switches"],
        parameters=[_REASON],
        responses=KillSwitchSerializer,
        examples=[KILL_SWITCH],
    )
    def delete(self, request: Request, switch_id: str) -> Response:
        """Let calls through again; the switch stays in the list as lifted."""
        said = self.body(ReasonBody)["reason"] or request.query_params.get("reason", "")
        lifted = lift_switch(
            switch_id=self._switch(switch_id).switch_id,
            actor=self.principal.as_actor(),
            reason=said.strip() or _NO_REASON,
        )
        return Response(KillSwitchSerializer(lifted).data)

    def _switch(self, switch_id: str) -> KillSwitch:
        found = KillSwitch.objects.filter(tenant_id=self.tenant_id, pk=switch_id).first()
        if found is None:
            raise coded_error("request.not_found")
        return found
