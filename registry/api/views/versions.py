"""Versions of an adapter: drafted, listed, read, edited while drafts, compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from registry.api.base import RegistryList, RegistryView
from registry.api.etags import etag_of, expected_digest
from registry.api.examples import DIFF, FINDING, MANIFEST, VERSION
from registry.api.filters import FindingFilter, VersionFilter
from registry.api.parsers import ManifestParser
from registry.api.serializers import (
    DiffSerializer,
    FindingSerializer,
    VersionRefSerializer,
    VersionSerializer,
    VersionSummarySerializer,
)
from registry.models import AdapterVersion, Finding
from registry.roles import AUTHORS
from registry.selectors import (
    comparison_base,
    open_version,
    risk_of,
    versions_of,
    with_finding_counts,
)
from registry.services.manifests import create_draft, replace_draft

MANIFEST_BODY = {"application/json": {"type": "object", "additionalProperties": True}}
_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag that was served, or a digest."
)
_AGAINST = OpenApiParameter(
    "against",
    str,
    description="Number or id of another version; absent: what is published in the environment.",
)


class VersionListView(RegistryList):
    """The versions of one adapter."""

    roles_by_method = {"POST": AUTHORS}
    parser_classes = [ManifestParser]
    queryset = AdapterVersion.objects.none()
    serializer_class = VersionSummarySerializer
    filterset_class = VersionFilter
    keyset_ordering = ("-version_id",)

    def get_queryset(self) -> QuerySet[AdapterVersion]:
        """Newest first."""
        rows = versions_of(self.tenant_id).filter(adapter=self.adapter())
        return with_finding_counts(rows).defer("envelope")

    @extend_schema(
        operation_id="versions_list",
        tags=["versions"],
        responses=VersionSummarySerializer(many=True),
    )
    def get(self, request: Request, adapter_id: str) -> Response:
        """List the versions of an adapter, newest first."""
        return self.page()

    @extend_schema(
        operation_id="versions_draft",
        tags=["versions"],
        request=MANIFEST_BODY,
        responses={201: VersionSerializer},
        examples=[MANIFEST, VERSION],
    )
    def post(self, request: Request, adapter_id: str) -> Response:
        """Send a manifest: it becomes a draft with its findings. Makes the adapter when new."""
        made = create_draft(
            tenant_id=self.tenant_id,
            document=_manifest(request),
            author=self.person(),
            actor=self.principal.as_actor(),
            adapter_id=adapter_id,
        )
        location = f"{request.path}/{made.version_id}"
        return version_response(made, status=201, headers={"Location": location})


class VersionView(RegistryView):
    """One version."""

    roles_by_method = {"PUT": AUTHORS}
    parser_classes = [ManifestParser]

    @extend_schema(
        operation_id="versions_retrieve",
        tags=["versions"],
        responses=VersionSerializer,
        examples=[VERSION],
    )
    def get(self, request: Request, adapter_id: str, version: str) -> Response:
        """One version with its manifest, findings, reviews and signatures."""
        return version_response(self.version())

    @extend_schema(
        operation_id="versions_edit",
        tags=["versions"],
        request=MANIFEST_BODY,
        responses=VersionSerializer,
        parameters=[_IF_MATCH],
        examples=[MANIFEST, VERSION],
    )
    def put(self, request: Request, adapter_id: str, version: str) -> Response:
        """Replace the manifest of a draft; with If-Match only if nobody edited it meanwhile."""
        changed = replace_draft(
            version_id=self.version().version_id,
            document=_manifest(request),
            editor=self.person(),
            actor=self.principal.as_actor(),
            expected_digest=expected_digest(request),
        )
        return version_response(changed)


class FindingListView(RegistryList):
    """What the readiness rules found in one version."""

    queryset = Finding.objects.none()
    serializer_class = FindingSerializer
    filterset_class = FindingFilter
    keyset_ordering = ("position",)

    def get_queryset(self) -> QuerySet[Finding]:
        """In the order of the document."""
        return Finding.objects.filter(version=self.version())

    @extend_schema(
        operation_id="versions_findings",
        tags=["versions"],
        responses=FindingSerializer(many=True),
        examples=[FINDING],
    )
    def get(self, request: Request, adapter_id: str, version: str) -> Response:
        """The findings of a version, in the order of the document."""
        return self.page()


class DiffView(RegistryView):
    """What got riskier."""

    @extend_schema(
        operation_id="versions_diff",
        tags=["versions"],
        parameters=[_AGAINST],
        responses=DiffSerializer,
        examples=[DIFF],
    )
    def get(self, request: Request, adapter_id: str, version: str) -> Response:
        """The risk diff against another version, widenings first."""
        subject = self.version()
        named = request.query_params.get("against")
        base = self.version(named) if named is not None else comparison_base(subject)
        diff = risk_of(subject, base)
        return Response(
            {
                "version": VersionRefSerializer(subject).data,
                "against": VersionRefSerializer(base).data if base is not None else None,
                **diff.as_dict(),
            }
        )


def version_response(
    version: AdapterVersion, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A version in full, under its ETag."""
    row = _complete(version)
    context = {"findings": list(row.findings.all()), "opened": open_version(row)}
    data: dict[str, Any] = dict(VersionSerializer(row, context=context).data)
    return Response(data, status=status, headers={"ETag": etag_of(row, data), **(headers or {})})


def _manifest(request: Request) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], request.data)  # the parser takes nothing but objects


def _complete(version: AdapterVersion) -> AdapterVersion:
    rows = versions_of(version.tenant_id).select_related("compared_with")
    return rows.prefetch_related("findings", "reviews__reviewer", "signatures").get(pk=version.pk)
