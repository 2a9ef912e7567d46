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
from registry.api.bodies import ApproveBody, Body, NothingBody, PublishBody, ReasonBody, RefuseBody
from registry.api.etags import etag_of, expected_digest
from registry.api.parsers import ManifestParser
from registry.document_selectors import document_versions, find_document, newest_versions
from registry.roles import AUTHORS, PUBLISHERS, REVIEWERS

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

    def document_version(self) -> DocumentVersion:
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
        return self.answer(self.document_version())

    def put(self, request: Request, **address: str) -> Response:
        """Replace the document of a draft; with If-Match only if nobody edited it meanwhile."""
        changed = self.desk.services.replace_draft(
            version_id=self.document_version().version_id,
            document=_sent(request),
            editor=self.person(),
            actor=self.principal.as_actor(),
            expected_digest=expected_digest(request),
        )
        return self.answer(changed)


class SubmitView(DocumentView):
    """draft -> in_review."""

    roles_by_method = {"POST": AUTHORS}

    def post(self, request: Request, **address: str) -> Response:
        """Put a draft before reviewers; blocking findings stop it, and it can't be edited after."""
        self.body(NothingBody)
        moved = self.desk.lifecycle.submit(
            version_id=self.document_version().version_id,
            actor=self.principal.as_actor(),
            digest=expected_digest(request),
        )
        return self.answer(moved)


class DecisionView(DocumentView):
    """What a reviewer says."""

    roles_by_method = {"POST": REVIEWERS}
    verb: ClassVar[str]
    body_class: ClassVar[type[Body]]

    def post(self, request: Request, **address: str) -> Response:
        """Decide on what others wrote."""
        moved = getattr(self.desk.lifecycle, self.verb)(
            version_id=self.document_version().version_id,
            reviewer=self.person(),
            actor=self.principal.as_actor(),
            **self.body(self.body_class),
        )
        return self.answer(moved)


class ApproveView(DecisionView):
    """One reviewer's yes."""

    verb, body_class = "approve", ApproveBody


class RejectView(DecisionView):
    """One reviewer's no."""

    verb, body_class = "reject", RefuseBody


class RequestChangesView(DecisionView):
    """One reviewer's not yet."""

    verb, body_class = "request_changes", RefuseBody


class PublishView(DocumentView):
    """approved -> published, and deprecated -> published as a rollback."""

    roles_by_method = {"POST": PUBLISHERS}

    def post(self, request: Request, **address: str) -> Response:
        """Sign and activate an approved version; publishing a deprecated one again rolls back."""
        moved = self.desk.lifecycle.publish(
            version_id=self.document_version().version_id,
            actor=self.principal.as_actor(),
            **self.body(self.desk.publish_body),
        )
        return self.answer(moved)


class RetireView(DocumentView):
    """The end of a version."""

    roles_by_method = {"POST": PUBLISHERS}

    def post(self, request: Request, **address: str) -> Response:
        """Retire a version for good: from the next call on nothing runs on it."""
        moved = self.desk.lifecycle.retire(
            version_id=self.document_version().version_id,
            actor=self.principal.as_actor(),
            **self.body(ReasonBody),
        )
        return self.answer(moved)


# --- one set of views for each kind --------------------------------------------------------------
_STEPS: tuple[tuple[str, type[DocumentView]], ...] = (
    ("submit", SubmitView),
    ("approve", ApproveView),
    ("reject", RejectView),
    ("request-changes", RequestChangesView),
    ("publish", PublishView),
    ("retire", RetireView),
)
_STEP_BODIES: Mapping[str, type[Body]] = {
    "submit": NothingBody,
    "approve": ApproveBody,
    "reject": RefuseBody,
    "request-changes": RefuseBody,
    "retire": ReasonBody,
}


def routes_for(desk: DocumentDesk) -> list[tuple[str, type[DocumentView], str]]:
    """Address, view and name of everything that can be done with one kind."""
    versions = f"{desk.address}/<str:{desk.model.id_column}>/versions"
    version = f"{versions}/<str:version>"
    steps = [
        (f"{version}/{step}", _step_view(desk, step, base), f"{desk.address}-version-{step}")
        for step, base in _STEPS
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


def _step_view(desk: DocumentDesk, step: str, base: type[DocumentView]) -> type[DocumentView]:
    body = _STEP_BODIES.get(step, desk.publish_body)
    operation = f"versions_{step.replace('-', '_')}"
    said = _said(desk, operation, request=body, responses=desk.full)
    return extend_schema_view(post=said)(_of_kind(desk, base))


def _of_kind(desk: DocumentDesk, base: type[DocumentView], **more: Any) -> type[DocumentView]:
    name = f"{desk.model.__name__}{base.__name__}"
    members = {"desk": desk, "queryset": desk.model._default_manager.none(), **more}
    return type(name, (base,), {"__doc__": base.__doc__, "__module__": __name__, **members})


def _said(desk: DocumentDesk, operation: str, **more: Any) -> Any:
    return extend_schema(operation_id=f"{desk.address}_{operation}", tags=[desk.address], **more)


def _sent(request: Request) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], request.data)  # the parser takes nothing but objects
