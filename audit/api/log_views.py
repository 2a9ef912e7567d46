"""REST of the Merkle log: checkpoints, proofs between them, and the keys that signed them (E2)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from audit.access import window_of
from audit.api.numbers import read_numbers
from audit.log import consistency_proof, inclusion_proof, latest_checkpoint, leaf_at, root_at
from audit.log_keys import keys_of_log
from audit.models import Checkpoint, DecisionRow
from audit.proofs import encoded, proofs_of
from audit.tombstones import absence_of
from contextos.core.errors import coded_error
from contextos.identity.principals import Principal, principal_of
from contextos.restkit.renderers import JSONRenderer
from contextos.restkit.views import PrivateAPIView

_INDEX = OpenApiParameter("index", int, required=True, description="`log_index` of the row.")
_SIZE = OpenApiParameter("size", int, description="Size of the log; absent: the newest.")
_FROM = OpenApiParameter("from", int, required=True, description="The smaller size, from 1.")
_TO = OpenApiParameter("to", int, description="The larger size; absent: the newest.")
_TEXT = OpenApiExample(
    "A checkpoint",
    response_only=True,
    media_type="text/plain",
    value="contextos.example/log/acme\n42\nqINS1GRFhWHwdkUeqLEoP4yEMkTBBzxBkGwGQlVlVcs=\n\n"
    "— contextos.example/log/acme hVz0...\n",
)


class CheckpointRenderer(BaseRenderer):
    """The text as it was signed; refusals are problem details as everywhere."""

    media_type = "text/plain"
    format = "txt"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """The body."""
        return data.encode() if isinstance(data, str) else JSONRenderer().render(data)


class InclusionSerializer(serializers.Serializer[Any]):
    """From a leaf to the root over `tree_size` leaves."""

    log_index = serializers.IntegerField()
    tree_size = serializers.IntegerField()
    leaf_hash = serializers.CharField(help_text="Base64 of SHA-256(0x00 || record).")
    root_hash = serializers.CharField(help_text="Base64; the checkpoint of that size has it too.")
    hashes = serializers.ListField(child=serializers.CharField(), help_text="Base64, leaf first.")


class ConsistencySerializer(serializers.Serializer[Any]):
    """From a smaller log to a larger one that goes on from it."""

    def get_fields(self) -> dict[str, Any]:
        """`from` is no name that Python takes."""
        number, text = serializers.IntegerField, serializers.CharField
        return {
            "from": number(),
            "to": number(),
            "from_root": text(),
            "to_root": text(),
            "hashes": serializers.ListField(child=text()),
        }


class RowProofSerializer(serializers.Serializer[Any]):
    """One row of a decision under the newest checkpoint."""

    seq = serializers.IntegerField()
    log_index = serializers.IntegerField()
    tree_size = serializers.IntegerField()
    hashes = serializers.ListField(child=serializers.CharField(), help_text="Base64, leaf first.")
    checkpoint = serializers.CharField(help_text="C2SP text, as of `log/checkpoint`.")


class ProofSerializer(serializers.Serializer[Any]):
    """The rows that are sealed; one that is not yet is absent."""

    results = RowProofSerializer(many=True)


class LogKeySerializer(serializers.Serializer[Any]):
    """A key that signed checkpoints of this log."""

    kid = serializers.CharField()
    key_id = serializers.CharField(help_text="8 hex digits: the first bytes of its signatures.")
    vkey = serializers.CharField(help_text="C2SP signed-note verifier key.")
    x = serializers.CharField(help_text="The Ed25519 public key, base64url.")
    state = serializers.ChoiceField(choices=["active", "retired", "revoked"])


class LogKeysSerializer(serializers.Serializer[Any]):
    """The log's name and its keys, oldest first."""

    origin = serializers.CharField()
    keys = LogKeySerializer(many=True)


class LogView(PrivateAPIView):
    """What the views of the log share: hashes say nothing, so all of the tenant may ask."""

    @property
    def principal(self) -> Principal:
        """The caller."""
        return principal_of(self.request)

    @property
    def tenant_id(self) -> str:
        """The caller's tenant: nothing of another one exists here."""
        return self.principal.tenant_id

    def newest(self) -> Checkpoint:
        """The newest checkpoint, or why there is none."""
        found = latest_checkpoint(tenant_id=self.tenant_id)
        if found is None:
            raise coded_error("log.not_sealed", message="Nothing of this log is sealed yet.")
        return found

    def size_asked(self, given: int | None) -> int:
        """The size of the log that is asked about: all that is sealed, when none is named."""
        return self.newest().tree_size if given is None else given


class CheckpointView(LogView):
    """`log/checkpoint`."""

    renderer_classes = [CheckpointRenderer]

    @extend_schema(
        operation_id="log_checkpoint",
        tags=["log"],
        responses={(200, "text/plain"): OpenApiTypes.STR},
        examples=[_TEXT],
    )
    def get(self, request: Request) -> Response:
        """The newest signed checkpoint of the tenant's log, as C2SP tlog-checkpoint."""
        read_numbers(request, known=())
        text = self.newest().text
        return Response(text, content_type="text/plain; charset=utf-8")

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        """There is one form of a checkpoint, whatever the caller would rather have."""
        return CheckpointRenderer(), CheckpointRenderer.media_type


class InclusionView(LogView):
    """`log/inclusion`."""

    @extend_schema(
        operation_id="log_inclusion",
        tags=["log"],
        parameters=[_INDEX, _SIZE],
        responses=InclusionSerializer,
    )
    def get(self, request: Request) -> Response:
        """The proof that a leaf is at its place in the log of a size."""
        asked = read_numbers(request, known=("index", "size"), required=("index",))
        index, size = asked["index"], self.size_asked(asked.get("size"))
        proof = inclusion_proof(tenant_id=self.tenant_id, index=index, size=size)
        leaf = leaf_at(tenant_id=self.tenant_id, index=index)
        root = root_at(tenant_id=self.tenant_id, size=size)
        leaf_hash, root_hash = encoded([leaf, root])
        return Response(
            {
                "log_index": index,
                "tree_size": size,
                "leaf_hash": leaf_hash,
                "root_hash": root_hash,
                "hashes": encoded(proof),
            }
        )


class ConsistencyView(LogView):
    """`log/consistency`."""

    @extend_schema(
        operation_id="log_consistency",
        tags=["log"],
        parameters=[_FROM, _TO],
        responses=ConsistencySerializer,
    )
    def get(self, request: Request) -> Response:
        """The proof that a larger log goes on from a smaller one, nothing changed or removed."""
        asked = read_numbers(request, known=("from", "to"), required=("from",))
        first, second = asked["from"], self.size_asked(asked.get("to"))
        proof = consistency_proof(tenant_id=self.tenant_id, first=first, second=second)
        roots = [root_at(tenant_id=self.tenant_id, size=size) for size in (first, second)]
        from_root, to_root = encoded(roots)
        return Response(
            {
                "from": first,
                "to": second,
                "from_root": from_root,
                "to_root": to_root,
                "hashes": encoded(proof),
            }
        )


class KeysView(LogView):
    """`log/keys`."""

    @extend_schema(operation_id="log_keys", tags=["log"], responses=LogKeysSerializer)
    def get(self, request: Request) -> Response:
        """The public keys of the log, also those that were rotated out."""
        read_numbers(request, known=())
        return Response(keys_of_log(self.tenant_id))


class ProofView(LogView):
    """`decision-records/{id}/proof`."""

    @extend_schema(
        operation_id="decision_records_proof",
        tags=["decision-records"],
        responses=ProofSerializer,
    )
    def get(self, request: Request, decision_id: str) -> Response:
        """Where the rows of a decision stand in the log, and the hashes that prove it."""
        read_numbers(request, known=())
        rows = self._readable(decision_id)
        return Response({"results": proofs_of(tenant_id=self.tenant_id, rows=rows)})

    def _readable(self, decision_id: str) -> list[DecisionRow]:
        """An agent's own decisions; people's according to their role and window."""
        window = window_of(self.principal, self.tenant_id) if self.principal.is_person else None
        rows = DecisionRow.objects.filter(tenant_id=self.tenant_id, decision_id=decision_id)
        if window is None:
            rows = rows.filter(agent_id=self.principal.id)
        found = list(rows.order_by("seq"))
        if not found:
            if window is None:
                raise coded_error("records.unknown")
            raise absence_of(tenant_id=self.tenant_id, decision_id=decision_id[:40])
        if window is not None:
            window.require(*(row.created_at for row in found))
        return found
