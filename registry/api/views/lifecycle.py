"""The steps of a version's life, each by the people it is for."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.base import RegistryView
from registry.api.bodies import ApproveBody, NothingBody, PublishBody, ReasonBody, RefuseBody
from registry.api.etags import expected_digest
from registry.api.examples import VERSION
from registry.api.serializers import VersionSerializer
from registry.api.views.versions import version_response
from registry.roles import AUTHORS, PUBLISHERS, REVIEWERS
from registry.services import lifecycle

_APPROVAL = OpenApiExample(
    "Approve, accepting a warning",
    request_only=True,
    value={
        "reason": "Read the whole diff; the new field is harmless.",
        "accepted_warnings": ["transport.origin_missing@/transport/origin_allowlist"],
    },
)
_REASON = OpenApiExample(
    "A reason", request_only=True, value={"reason": "The refund limit is missing."}
)
_NOTES = OpenApiExample(
    "Notes", request_only=True, value={"rollout_notes": "Watched by the payments team."}
)


class SubmitView(RegistryView):
    """draft -> in_review."""

    roles_by_method = {"POST": AUTHORS}

    @extend_schema(
        operation_id="versions_submit",
        tags=["lifecycle"],
        request=NothingBody,
        responses=VersionSerializer,
        examples=[VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Put a draft before reviewers; blocking findings stop it, and it can't be edited after."""
        self.body(NothingBody)
        moved = lifecycle.submit(
            version_id=self.version().version_id,
            actor=self.principal.as_actor(),
            digest=expected_digest(request),
        )
        return version_response(moved)


class ApproveView(RegistryView):
    """One reviewer's yes."""

    roles_by_method = {"POST": REVIEWERS}

    @extend_schema(
        operation_id="versions_approve",
        tags=["lifecycle"],
        request=ApproveBody,
        responses=VersionSerializer,
        examples=[_APPROVAL, VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Approve what others wrote; destructive manifests need two people."""
        moved = lifecycle.approve(
            version_id=self.version().version_id,
            reviewer=self.person(),
            actor=self.principal.as_actor(),
            **self.body(ApproveBody),
        )
        return version_response(moved)


class RejectView(RegistryView):
    """One reviewer's no."""

    roles_by_method = {"POST": REVIEWERS}

    @extend_schema(
        operation_id="versions_reject",
        tags=["lifecycle"],
        request=RefuseBody,
        responses=VersionSerializer,
        examples=[_REASON, VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Reject a version for good, with a reason."""
        moved = lifecycle.reject(
            version_id=self.version().version_id,
            reviewer=self.person(),
            actor=self.principal.as_actor(),
            **self.body(RefuseBody),
        )
        return version_response(moved)


class RequestChangesView(RegistryView):
    """One reviewer's not yet."""

    roles_by_method = {"POST": REVIEWERS}

    @extend_schema(
        operation_id="versions_request_changes",
        tags=["lifecycle"],
        request=RefuseBody,
        responses=VersionSerializer,
        examples=[_REASON, VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Ask for a new version, saying what has to change."""
        moved = lifecycle.request_changes(
            version_id=self.version().version_id,
            reviewer=self.person(),
            actor=self.principal.as_actor(),
            **self.body(RefuseBody),
        )
        return version_response(moved)


class PublishView(RegistryView):
    """approved -> published, and deprecated -> published as a rollback."""

    roles_by_method = {"POST": PUBLISHERS}

    @extend_schema(
        operation_id="versions_publish",
        tags=["lifecycle"],
        request=PublishBody,
        responses=VersionSerializer,
        examples=[_NOTES, VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Sign and activate an approved version; publishing a deprecated one again rolls back."""
        moved = lifecycle.publish(
            version_id=self.version().version_id,
            actor=self.principal.as_actor(),
            **self.body(PublishBody),
        )
        return version_response(moved)


class RetireView(RegistryView):
    """The end of a version."""

    roles_by_method = {"POST": PUBLISHERS}

    @extend_schema(
        operation_id="versions_retire",
        tags=["lifecycle"],
        request=ReasonBody,
        responses=VersionSerializer,
        examples=[_REASON, VERSION],
    )
    def post(self, request: Request, adapter_id: str, version: str) -> Response:
        """Retire a version for good: from the next call on nothing runs on it."""
        moved = lifecycle.retire(
            version_id=self.version().version_id,
            actor=self.principal.as_actor(),
            **self.body(ReasonBody),
        )
        return version_response(moved)
