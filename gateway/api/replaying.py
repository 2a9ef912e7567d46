"""REST of replay: a decision taken again from its record, without touching a tool."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from audit.access import Window, window_of
from contextos.identity.permissions import IsPerson
from contextos.identity.principals import Principal, principal_of
from contextos.restkit.views import PrivateAPIView
from gateway.api.descriptions import component
from gateway.replaying.services import export_packet, replay, takes_values
from registry.api.bodies import NothingBody

_ID = "01k9zq7w8x5e3m2n4p6r8t0v2w"
_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_PACKET: dict[str, Any] = {
    "replay_packet_id": f"rpl_{_ID}",
    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    "source_kind": "decision_record",
    "source_ref": f"dec_{_ID}",
    "context_pack_ref": "support_refund@1.0.0",
    "compiled_context_hash": _HASH,
    "tool_transcript_chain_hash": _HASH,
    "side_effect_policy": "transcript_only",
    "expected": {"status": "EXECUTED", "decision_record_hash": _HASH},
}
EQUAL = OpenApiExample(
    "The same again",
    response_only=True,
    value={
        **_PACKET,
        "latest_result": {
            "status": "replay_equal",
            "diffs": [],
            "checked": ["record", "values", "documents", "resolve", "validate", "policy"],
            "taken_from_record": [],
        },
    },
)
ERASED = OpenApiExample(
    "Not to be had any more",
    response_only=True,
    value={
        **_PACKET,
        "latest_result": {
            "status": "invalid",
            "diffs": [
                {
                    "type": "erased",
                    "path": "/values/args",
                    "expected": _HASH,
                    "found": None,
                    "message": "The args of the call were erased; only the commitment remains.",
                }
            ],
            "checked": ["record"],
            "taken_from_record": [],
        },
    },
)


class ReplayingView(PrivateAPIView):
    """What the views of replay share: people who may read records, within their window."""

    permission_classes = [IsPerson]

    @property
    def principal(self) -> Principal:
        """The caller."""
        return principal_of(self.request)

    def window(self) -> Window:
        """What the caller may read now."""
        return window_of(self.principal, self.principal.tenant_id)


class ReplayView(ReplayingView):
    """`decision-records/{id}/replay`."""

    @extend_schema(
        operation_id="decision_records_replay",
        tags=["decision-records"],
        request=NothingBody,
        responses={200: component("ReplayPacket")},
        examples=[EQUAL, ERASED],
    )
    def post(self, request: Request, decision_id: str) -> Response:
        """Take the decision again from its record; no tool, no network, one audit event."""
        NothingBody(data=request.data).is_valid(raise_exception=True)
        packet = replay(
            tenant_id=self.principal.tenant_id,
            decision_id=decision_id,
            actor=self.principal.as_actor(),
            window=self.window(),
        )
        return Response(packet)


class ReplayPacketView(ReplayingView):
    """`decision-records/{id}/replay-packet`."""

    @extend_schema(
        operation_id="decision_records_replay_packet",
        tags=["decision-records"],
        responses={200: component("ReplayPacket")},
    )
    def get(self, request: Request, decision_id: str) -> Response:
        """All that a replay elsewhere needs; values only for those cleared for all of them.

        A token that was lent or narrowed for an agent gets commitments instead.
        """
        window = self.window()
        packet = export_packet(
            tenant_id=self.principal.tenant_id,
            decision_id=decision_id,
            actor=self.principal.as_actor(),
            with_values=self._is_themselves() and takes_values(window, decision_id),
            window=window,
        )
        name = f"{packet['replay_packet_id']}.json"
        return Response(packet, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    def _is_themselves(self) -> bool:
        return not self.principal.lent and self.principal.scopes is None
