"""Lists of schemas, resources and prompts over all versions; all of it to be read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import Tone, badge, short_hash, untrusted, when
from contextos.adminkit.paginator import BoundedPaginator
from contextos.core import strict_json
from contextos.core.text import reveal_invisible, single_line
from contextos.review.labels import state_badge
from registry.admin.comparison import value_text
from registry.models import AdapterVersion, Prompt, Resource, SchemaDocument

SHOWN_USES = 50
_CLASSIFICATION_TONES: dict[str, Tone] = {
    "PUBLIC": "success",
    "INTERNAL": "info",
    "CONFIDENTIAL": "warning",
    "RESTRICTED": "danger",
}


def version_link(version: AdapterVersion) -> SafeString:
    """The version something belongs to, with its state."""
    url = reverse("admin:registry_adapterversion_change", args=[version.pk])
    label = state_badge(version.state)
    return format_html('<a class="cos-link" href="{}">{}</a> {}', url, str(version), label)


class _Contents(ReadOnlyAdmin, TenantScopedAdmin):
    """Read-only pages; what is of another tenant is not found."""

    paginator = BoundedPaginator

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Django would send strangers to the front page instead."""
        if self.get_object(request, object_id) is None:
            raise Http404
        return super().change_view(request, object_id, form_url, extra_context)


class _OfVersion(_Contents):
    """Rows that a version declares; their tenant is the version's."""

    tenant_lookup = "version__tenant_id"
    list_select_related = ["version__adapter"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the envelopes of their versions."""
        return super().get_queryset(request).defer("version__envelope")

    @display(description="Version")
    def declared_by(self, row: Any) -> SafeString:
        """Who declares it."""
        return version_link(row.version)


@admin.register(SchemaDocument)
class SchemaDocumentAdmin(_Contents):
    """JSON Schemas by their content."""

    list_display = ["shown_digest", "dialect", "names", "created"]
    search_fields = ["digest", "uses__ref"]
    search_help_text = "Part of a schema:// name, or of a digest."
    fields = ["whole_digest", "dialect", "used_by", "created", "document"]
    nav_title = "Schemas"
    nav_icon = "data_object"
    nav_order = 40
    empty_title = "No schemas yet"
    empty_text = "The schemas of every manifest are kept here once, under the hash of their text."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the names that versions give each."""
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.prefetch_related("uses")

    @display(description="Schema", ordering="digest")
    def shown_digest(self, row: SchemaDocument) -> SafeString:
        """Its content address."""
        return short_hash(row.digest)

    @display(description="Digest")
    def whole_digest(self, row: SchemaDocument) -> SafeString:
        """Its content address in full."""
        return short_hash(row.digest, keep=64)

    @display(description="Names")
    def names(self, row: Any) -> SafeString:
        """What versions call it."""
        refs = sorted({use.ref for use in row.uses.all()})
        shown = [(single_line(ref, limit=90),) for ref in refs[:3]]
        more = f" and {len(refs) - 3} more" if len(refs) > 3 else ""
        return format_html("{}{}", format_html_join(", ", "{}", shown), more)

    @display(description="Used by")
    def used_by(self, row: SchemaDocument) -> SafeString:
        """The versions that refer to it."""
        uses = row.uses.select_related("version__adapter").defer("version__envelope")
        listed = uses.order_by("-version__created_at")[:SHOWN_USES]
        lines = ((version_link(use.version), reveal_invisible(use.ref)) for use in listed)
        return format_html("<ul>{}</ul>", format_html_join("", "<li>{} as {}</li>", lines))

    @display(description="First seen", ordering="created_at")
    def created(self, row: SchemaDocument) -> SafeString:
        """When it was first brought in."""
        return when(row.created_at)

    @display(description="Document")
    def document(self, row: SchemaDocument) -> SafeString:
        """The schema set out for reading."""
        value = strict_json.loads(row.text, max_bytes=len(row.text.encode()) + 1)
        return format_html('<pre class="cos-record" tabindex="0">{}</pre>', value_text(value))


@admin.register(Resource)
class ResourceAdmin(_OfVersion):
    """What can be read, with its classification."""

    list_display = ["shown_uri", "kind", "shown_classification", "shown_name", "declared_by"]
    list_filter = ["classification", "is_template"]
    search_fields = ["uri", "name"]
    fields = [
        "shown_uri",
        "kind",
        "shown_name",
        "shown_classification",
        "mime_type",
        "size_bytes",
        "source",
        "shown_freshness",
        "shown_access",
        "shown_constraints",
        "evidence_ref",
        "declared_by",
    ]
    nav_icon = "folder_open"
    nav_order = 50
    empty_title = "No resources yet"
    empty_text = (
        "Resources are what an adapter lets agents read: files, records, snapshots. A manifest "
        "declares each with its classification and who may read it."
    )

    @display(description="URI", ordering="uri")
    def shown_uri(self, row: Resource) -> str:
        """Where it is found."""
        return reveal_invisible(row.uri)

    @display(description="Kind", ordering="is_template")
    def kind(self, row: Resource) -> SafeString:
        """One artefact or a pattern of many."""
        return badge("template" if row.is_template else "resource")

    @display(description="Classification", ordering="classification")
    def shown_classification(self, row: Resource) -> SafeString:
        """How sensitive it is."""
        word = single_line(row.classification) or "not classified"
        return badge(word, _CLASSIFICATION_TONES.get(row.classification.upper(), "danger"))

    @display(description="Name", ordering="name")
    def shown_name(self, row: Resource) -> SafeString:
        """As the manifest calls it."""
        return untrusted(row.name) if row.name else SafeString("")

    @display(description="Freshness")
    def shown_freshness(self, row: Resource) -> SafeString:
        """How old it may be."""
        return _json(row.freshness)

    @display(description="Access")
    def shown_access(self, row: Resource) -> SafeString:
        """Who may read it."""
        return _json(row.access)

    @display(description="Parameter constraints")
    def shown_constraints(self, row: Resource) -> SafeString:
        """What a template's parameters may be."""
        return _json(row.parameter_constraints)


@admin.register(Prompt)
class PromptAdmin(_OfVersion):
    """Prompt templates: reviewed artefacts, never authority."""

    list_display = ["shown_name", "shown_title", "prompt_version", "declared_by"]
    search_fields = ["name", "title"]
    fields = [
        "shown_name",
        "shown_title",
        "shown_description",
        "prompt_version",
        "shown_arguments",
        "golden_set_ref",
        "declared_by",
    ]
    nav_icon = "chat"
    nav_order = 60
    empty_title = "No prompts yet"
    empty_text = (
        "Prompts are templates that a server offers to people. They are versioned and reviewed "
        "with the manifest, and carry no authority of their own."
    )

    @display(description="Name", ordering="name")
    def shown_name(self, row: Prompt) -> str:
        """Its id."""
        return reveal_invisible(row.name)

    @display(description="Title", ordering="title")
    def shown_title(self, row: Prompt) -> SafeString:
        """As the manifest calls it."""
        return untrusted(row.title) if row.title else SafeString("")

    @display(description="Description")
    def shown_description(self, row: Prompt) -> SafeString:
        """As the manifest describes it."""
        return untrusted(row.description) if row.description else SafeString("")

    @display(description="Arguments")
    def shown_arguments(self, row: Prompt) -> SafeString:
        """What it takes."""
        return _json(row.arguments)


def _json(value: Any) -> SafeString:
    if not value:
        return badge("not said")
    return format_html('<pre class="cos-record">{}</pre>', value_text(value))
