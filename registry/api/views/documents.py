"""Packs and policy bundles by REST: the same list, draft, edit and lifecycle for both kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from contextos.core.errors import coded_error
from contextos.review.document_versions import DocumentVersion
from contextos.review.signed_documents import open_document
from registry.api.base import RegistryList, RegistryView
from registry.api.bodies import Body, PublishBody
from registry.api.etags import etag_of, expected_digest
from registry.api.parsers import ManifestParser
from registry.api.views.steps import STEPS, StepView
from registry.document_selectors import document_versions, find_document, newest_versions
from registry.roles import AUTHORS

_DOCUMENT_BODY = {"application/json": {"type": "object", "additionalProperties": True}}
_IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, description="The ETag that was served, or a digest."
)


@dataclass(frozen=True, slots=True)
class DocumentDesk:
    """One kind of document: its table, its services, its shapes, and its place in the API."""

    address: str  # "packs"
    model: type[DocumentVersion]
    services: Any  # the module with create_draft and replace_draft
    lifecycle: Any
    head: type[BaseSerializer[Any]]
    summary: type[BaseSerializer[Any]]
    full: type[BaseSerializer[Any]]
    list_filter: type[Any]
    version_filter: type[Any]
    publish_body: type[Body] = PublishBody


class DocumentView(RegistryView):
    """A view of one kind; concrete classes are made by `views_for`."""

    desk: ClassVar[DocumentDesk]

    @property
    def document_id(self) -> str:
        """The pack or bundle of the address."""
        return str(self.kwargs[self.desk.model.id_column])

    def subject(self) -> DocumentVersion:
        """The version of the address."""
        found = find_document(
            self.desk.model, self.tenant_id, self.document_id, self.kwargs["version"]
        )
        if found is None:
            raise coded_error("request.not_found")
        return found

    def draft_response(self, document_id: str | None) -> Response:
        """A new draft, and where to find it."""
        made = self.desk.services.create_draft(
            tenant_id=self.tenant_id,
            document=_sent(self.request),
            author=self.person(),
            actor=self.principal.as_actor(),
            document_id=document_id,
        )
        path = self.request.path.partition(f"/{self.desk.address}")[0]
        location = f"{path}/{self.desk.address}/{made.document_id}/versions/{made.version_id}"
        return self.answer(made, status=201, headers={"Location": location})

    def answer(
        self, version: DocumentVersion, *, status: int = 200, headers: dict[str, str] | None = None
    ) -> Response:
        """A version in full, under its ETag."""
        rows: QuerySet[Any] = document_versions(self.desk.model, version.tenant_id)
        row = rows.prefetch_related("reviews__reviewer").get(pk=version.pk)
        data: dict[str, Any] = dict(
            self.desk.full(row, context={"opened": open_document(row)}).data
        )
        tagged = {"ETag": etag_of(row, data), **(headers or {})}
        return Response(data, status=status, headers=tagged)


class HeadListView(DocumentView, RegistryList):
    """All documents of the kind."""

    roles_by_method = {"POST": AUTHORS}
    parser_classes = [ManifestParser]

    def get_queryset(self) -> QuerySet[Any]:
        """One row a document."""
        return newest_versions(self.desk.model, self.tenant_id).defer("envelope")

    def get(self, request: Request) -> Response:
        """List them, each with its newest version and the one in force."""
        return self.page()

    def post(self, request: Request) -> Response:
        """Send a document: it becomes a draft with its findings."""
        return self.draft_response(None)


class VersionListView(DocumentView, RegistryList):
    """The versions of one document."""

    roles_by_method = {"POST": AUTHORS}
    parser_classes = [ManifestParser]
    keyset_ordering = ("-version_id",)

    def get_queryset(self) -> QuerySet[Any]:
        """Newest first."""
        rows = document_versions(self.desk.model, self.tenant_id).defer("envelope")
        found = rows.filter(**{self.desk.model.id_column: self.document_id})
        if not found.exists():
            raise coded_error("request.not_found")
        return found

    def get(self, request: Request, **address: str) -> Response:
        """List the versions, newest first."""
        return self.page()

    def post(self, request: Request, **address: str) -> Response:
        """Send a document: it becomes a draft with its findings."""
        return self.draft_response(self.document_id)


class VersionView(DocumentView):
    """One version."""

    roles_by_method = {"PUT": AUTHORS}
    parser_classes = [ManifestParser]

    def get(self, request: Request, **address: str) -> Response:
        """One version with its document, findings, reviews and signature."""
        return self.answer(self.subject())

    def put(self, request: Request, **address: str) -> Response:
        """Replace the document of a draft; with If-Match only if nobody edited it meanwhile."""
        changed = self.desk.services.replace_draft(
            version_id=self.subject().version_id,
            document=_sent(request),
            editor=self.person(),
            actor=self.principal.as_actor(),
            expected_digest=expected_digest(request),
        )
        return self.answer(changed)


# --- one set of views for each kind --------------------------------------------------------------
def routes_for(desk: DocumentDesk) -> list[tuple[str, type[DocumentView], str]]:
    """Address, view and name of everything that can be done with one kind."""
    versions = f"{desk.address}/<str:{desk.model.id_column}>/versions"
    version = f"{versions}/<str:version>"
    steps = [
        (f"{version}/{step}", _step_view(desk, step, base), f"{desk.address}-version-{step}")
        for step, base in STEPS
    ]
    return [
        (desk.address, _head_view(desk), desk.address),
        (versions, _version_list_view(desk), f"{desk.address}-versions"),
        (version, _version_view(desk), f"{desk.address}-version"),
        *steps,
    ]


def _head_view(desk: DocumentDesk) -> type[DocumentView]:
    view = _of_kind(
        desk,
        HeadListView,
        serializer_class=desk.head,
        filterset_class=desk.list_filter,
        keyset_ordering=(desk.model.id_column, "pk"),
    )
    return extend_schema_view(
        get=_said(desk, "list", responses=desk.head(many=True)),
        post=_said(desk, "draft", request=_DOCUMENT_BODY, responses={201: desk.full}),
    )(view)


def _version_list_view(desk: DocumentDesk) -> type[DocumentView]:
    view = _of_kind(
        desk, VersionListView, serializer_class=desk.summary, filterset_class=desk.version_filter
    )
    return extend_schema_view(
        get=_said(desk, "versions_list", responses=desk.summary(many=True)),
        post=_said(desk, "versions_draft", request=_DOCUMENT_BODY, responses={201: desk.full}),
    )(view)


def _version_view(desk: DocumentDesk) -> type[DocumentView]:
    return extend_schema_view(
        get=_said(desk, "versions_retrieve", responses=desk.full),
        put=_said(
            desk,
            "versions_edit",
            request=_DOCUMENT_BODY,
            responses=desk.full,
            parameters=[_IF_MATCH],
        ),
    )(_of_kind(desk, VersionView))


def _step_view(desk: DocumentDesk, step: str, base: type[StepView]) -> type[DocumentView]:
    body = desk.publish_body if step == "publish" else base.body_class
    operation = f"versions_{step.replace('-', '_')}"
    said = _said(desk, operation, request=body, responses=desk.full)
    view = _of_kind(desk, DocumentView, base, lifecycle=desk.lifecycle, body_class=body)
    return extend_schema_view(post=said)(view)


def _of_kind(desk: DocumentDesk, *bases: type[RegistryView], **more: Any) -> type[DocumentView]:
    about = bases[-1]
    members = {"desk": desk, "queryset": desk.model._default_manager.none(), **more}
    described = {"__doc__": about.__doc__, "__module__": __name__, **members}
    return cast(
        type[DocumentView], type(f"{desk.model.__name__}{about.__name__}", bases, described)
    )


def _said(desk: DocumentDesk, operation: str, **more: Any) -> Any:
    return extend_schema(operation_id=f"{desk.address}_{operation}", tags=[desk.address], **more)


def _sent(request: Request) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], request.data)  # the parser takes nothing but objects
