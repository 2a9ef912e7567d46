"""REST of exports: ask, look, stop, fetch; for people who may read records."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import generics
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from audit.access import Window, window_of
from audit.api import export_documents as documents
from audit.export.downloads import file_response
from audit.export.services import (
    cancel_export,
    exports_for,
    find_export,
    open_download,
    request_export,
)
from audit.models import ExportJob
from contextos.core.errors import PROBLEM_CONTENT_TYPE, coded_error
from contextos.identity.permissions import IsPerson
from contextos.identity.principals import Principal, principal_of
from contextos.restkit.views import PrivateAPIView


class IsPersonThemselves(IsPerson):
    """A person with a token of their own, neither lent nor narrowed for an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """403 for everybody else: an export is all the records at once."""
        if not super().has_permission(request, view):
            return False
        caller = principal_of(request)
        if caller.lent or caller.scopes is not None:
            raise coded_error("export.people_only")
        return True


class ExportsView(PrivateAPIView):
    """What all views of exports share."""

    permission_classes = [IsPersonThemselves]

    @property
    def principal(self) -> Principal:
        """The caller."""
        return principal_of(self.request)

    def window(self) -> Window:
        """What the caller may read now; an ended access is refused here."""
        return window_of(self.principal, self.principal.tenant_id)


class ExportListView(ExportsView, generics.GenericAPIView[Any]):
    """`exports`."""

    queryset = ExportJob.objects.none()
    serializer_class = documents.ExportSerializer

    @extend_schema(
        operation_id="exports_list",
        tags=["exports"],
        responses=documents.ExportSerializer(many=True),
        examples=[documents.DONE],
    )
    def get(self, request: Request) -> Response:
        """The exports that the caller may fetch, newest first."""
        found = self.paginate_queryset(exports_for(self.window())) or []
        return self.get_paginated_response([documents.document_of(job) for job in found])

    @extend_schema(
        operation_id="exports_request",
        tags=["exports"],
        request=documents.ExportRequestSerializer,
        responses={202: documents.ExportAcceptedSerializer},
        examples=[documents.ASK, documents.ACCEPTED],
    )
    def post(self, request: Request) -> Response:
        """Have records written to a file in the background."""
        window = self.window()
        job = request_export(
            tenant_id=window.tenant_id,
            request=documents.read_request(dict(request.data)),
            actor=self.principal.as_actor(),
            window=window,
        )
        return Response(
            {"export_id": job.pk, "state": str(job.state)},
            status=202,
            headers={"Location": f"{request.path}/{job.pk}"},
        )


class ExportView(ExportsView):
    """`exports/{id}`."""

    @extend_schema(
        operation_id="exports_read",
        tags=["exports"],
        responses=documents.ExportSerializer,
        examples=[documents.DONE],
    )
    def get(self, request: Request, export_id: str) -> Response:
        """Where an export stands."""
        window = self.window()
        job = find_export(tenant_id=window.tenant_id, export_id=export_id, window=window)
        return Response(documents.document_of(job))


class ExportCancelView(ExportsView):
    """`exports/{id}/cancel`."""

    @extend_schema(
        operation_id="exports_cancel",
        tags=["exports"],
        request=None,
        responses=documents.ExportSerializer,
    )
    def post(self, request: Request, export_id: str) -> Response:
        """Stop an export that has not ended; nothing of it remains."""
        window = self.window()
        job = cancel_export(
            tenant_id=window.tenant_id,
            export_id=export_id,
            actor=self.principal.as_actor(),
            window=window,
        )
        return Response(documents.document_of(job))


class _WhateverIsAsked(BaseContentNegotiation):
    """The file is what it is; a problem stays JSON."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class ExportDownloadView(ExportsView):
    """`exports/{id}/download`."""

    content_negotiation_class = _WhateverIsAsked

    @extend_schema(
        operation_id="exports_download",
        tags=["exports"],
        responses={
            (200, "application/octet-stream"): OpenApiResponse(
                OpenApiTypes.BINARY, description="The whole file; `Repr-Digest` is its SHA-256."
            ),
            (409, PROBLEM_CONTENT_TYPE): OpenApiResponse(
                {"$ref": "#/components/schemas/Problem"}, "There is no file yet, or no more"
            ),
        },
    )
    def get(self, request: Request, export_id: str) -> FileResponse:
        """The file of a finished export; fetching it is recorded."""
        window = self.window()
        job, path = open_download(
            tenant_id=window.tenant_id,
            export_id=export_id,
            actor=self.principal.as_actor(),
            window=window,
        )
        return file_response(job, path)
