"""Exports: asking for one with the filter of a search, following it, fetching the file."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from audit.access import Window, window_of
from audit.admin.keeping import frame, told_of
from audit.export.columns import COLUMNS
from audit.export.downloads import file_response
from audit.export.pdf import SHOWN as SHOWN_IN_PDF
from audit.export.progress import progress_of
from audit.export.services import (
    ExportRequest,
    cancel_export,
    exports_for,
    find_export,
    open_download,
    request_export,
)
from audit.export.states import ExportFormat, ExportState
from audit.export.words import filter_lines, period_of
from audit.models import ExportJob
from audit.record_filter import PARAMETERS
from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import Tone, badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of

STEM = "audit_exportjob"
_TONES: dict[str, Tone] = {
    ExportState.QUEUED: "neutral",
    ExportState.RUNNING: "info",
    ExportState.DONE: "success",
    ExportState.FAILED: "danger",
    ExportState.CANCELLED: "neutral",
}
_USES = {
    ExportFormat.BUNDLE: "proofs, votes, documents and a checker that works offline",
    ExportFormat.PDF: f"to read and to file: figures and charts over all of them, "
    f"a table of the first {SHOWN_IN_PDF:,}",
    ExportFormat.XLSX: "to work with in a spreadsheet",
    ExportFormat.CSV: "for any other program",
    ExportFormat.JSONL: "the records themselves, byte for byte",
}


class ExportForm(forms.Form):
    """The form, the filter as it was searched for, and how much of it."""

    format = forms.ChoiceField(
        label="As",
        choices=[(kind, f"{kind.label}: {use}") for kind, use in _USES.items()],
        initial=ExportFormat.BUNDLE,
        widget=forms.RadioSelect,
    )
    title = forms.CharField(
        label="Title", required=False, max_length=200, help_text="Stands on the cover."
    )
    columns = forms.MultipleChoiceField(
        label="Columns",
        required=False,
        choices=[(column.name, column.title) for column in COLUMNS],
        help_text="For tables. None chosen: all of them.",
        widget=forms.SelectMultiple(attrs={"size": 6}),
    )
    size = forms.IntegerField(
        label="Random sample of",
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="So many records, drawn at random. Empty: all records.",
    )
    seed = forms.CharField(
        label="Seed of the sample",
        required=False,
        max_length=64,
        help_text="The same seed draws the same records again. Empty: one is drawn for you.",
    )

    def asked(self, wanted: dict[str, str]) -> ExportRequest:
        """What was filled in, with the filter that came from the search."""
        given = self.cleaned_data
        sample = {"size": given["size"], "seed": given["seed"]} if given["size"] else None
        return ExportRequest(
            format=given["format"],
            filter=wanted,
            columns=given["columns"],
            sample=sample,
            title=given["title"],
        )


@admin.register(ExportJob)
class ExportJobAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """A file appears when it is whole; asking, writing and fetching are recorded."""

    list_display = ["what", "state_label", "records", "period", "by", "asked"]
    ordering = ["-export_id"]
    search_fields = ["=export_id", "=sha256"]
    search_help_text = "The exact id of an export, or the SHA-256 of a file."
    nav_title = "Exports"
    nav_icon = "download"
    nav_order = 40
    empty_title = "Nothing was exported yet"
    empty_text = (
        "Search the decision records, then export what you found: as a table, a report, or a "
        "signed bundle that can be checked on any machine."
    )
    empty_action = ("Export records", f"admin:{STEM}_add")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may read records."""
        return self.allows(request, "add")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Auditors see their own and what was made for them."""
        rows = super().get_queryset(request)
        tenant = acting_tenant(request)
        if tenant is None:
            return rows.none()
        try:
            return rows.filter(pk__in=exports_for(self._window(request)).values("pk"))
        except PermissionDenied:
            return rows.none()

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """An auditor without an access reads why, not an empty list."""
        if acting_tenant(request) is not None:
            self._window(request)
        return super().changelist_view(request, extra_context)

    # --- the list -----------------------------------------------------------------------------
    @display(description="Export")
    def what(self, job: ExportJob) -> str:
        """Its title and form."""
        return single_line(f"{job.title or 'Decision records'} · {job.get_format_display()}")

    @display(description="State")
    def state_label(self, job: ExportJob) -> SafeString:
        """How far it is."""
        return state_badge(job)

    @display(description="Records")
    def records(self, job: ExportJob) -> str:
        """How many so far."""
        return f"{job.rows:,}"

    @display(description="Period")
    def period(self, job: ExportJob) -> str:
        """Which records, by their time."""
        return period_of(job.filter)

    @display(description="Asked for by")
    def by(self, job: ExportJob) -> str:
        """The name as it was then."""
        return reveal_invisible(job.requested_by_name)

    @display(description="Asked for", ordering="export_id")
    def asked(self, job: ExportJob) -> SafeString:
        """When."""
        return when(job.created_at)

    # --- asking -------------------------------------------------------------------------------
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The filter comes from the search by its own names."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        window = self._window(request)
        given = request.POST if request.method == "POST" else request.GET
        wanted = {name: given[name] for name in PARAMETERS if given.get(name)}
        form = ExportForm(given if request.method == "POST" else None)
        if form.is_bound and form.is_valid():
            try:
                job = request_export(
                    tenant_id=window.tenant_id,
                    request=form.asked(wanted),
                    actor=actor_of(request),
                    window=window,
                )
            except ContextOSError as refusal:
                form.add_error(None, f"{refusal.message} {refusal.remediation}")
            else:
                messages.success(request, "The export is on its way; this page follows it.")
                return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[job.pk]))
        return self._page(
            request,
            "audit/export_new.html",
            "Export records",
            status=422 if form.is_bound else 200,
            form=form,
            wanted=wanted,
            words=filter_lines(wanted),
            window=window,
        )

    # --- one export ---------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """Steps of one export before Django's own pages."""
        guarded = self.admin_site.admin_view
        steps = {
            "progress": self.progress_view,
            "cancel": require_POST(self.cancel_view),
            "download": self.download_view,
        }
        own = [
            path(f"<path:object_id>/{step}/", guarded(view), name=f"{STEM}_{step}")
            for step, view in steps.items()
        ]
        new = path("new/", guarded(self.add_view), name="audit_export_new")  # the search leads here
        return [new, *own, *super().get_urls()]

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """How far it is, what it holds, how to check it."""
        job = self._job(request, object_id)
        return self._page(
            request,
            "audit/export.html",
            single_line(job.title or "Decision records", limit=120),
            original=job,
            job=job,
            state=state_badge(job),
            percent=round(100 * progress_of(job)),
            size=filesizeformat(job.size_bytes),
            words=filter_lines(job.filter),
            titles=[c.title for c in COLUMNS if c.name in job.columns],
            events=told_of(job.tenant_id, "export", job.pk),
        )

    def progress_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For the page that watches."""
        job = self._job(request, object_id)
        done = round(100 * progress_of(job))
        return JsonResponse({"state": job.state, "percent": done, "rows": job.rows})

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Stop it."""
        job = self._job(request, object_id)
        try:
            cancel_export(tenant_id=job.tenant_id, export_id=job.pk, actor=actor_of(request))
        except ContextOSError as refusal:
            messages.error(request, f"{refusal.message} {refusal.remediation}")
        else:
            messages.success(request, "The export was cancelled; nothing of it remains.")
        return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[job.pk]))

    def download_view(self, request: HttpRequest, object_id: str) -> HttpResponse | FileResponse:
        """The file; who fetched it is recorded."""
        window = self._window(request)
        try:
            job, place = open_download(
                tenant_id=window.tenant_id,
                export_id=object_id,
                actor=actor_of(request),
                window=window,
            )
        except ContextOSError as refusal:
            if refusal.code == "request.not_found":
                raise Http404 from refusal
            messages.error(request, f"{refusal.message} {refusal.remediation}")
            return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[object_id]))
        return file_response(job, place)

    # --- parts --------------------------------------------------------------------------------
    def _window(self, request: HttpRequest) -> Window:
        tenant, user = acting_tenant(request), request.user
        if tenant is None or not user.has_perm("audit.view_exportjob"):
            raise PermissionDenied
        try:
            return window_of(user, str(tenant.pk))  # type: ignore[arg-type]
        except ContextOSError as refusal:
            raise PermissionDenied(refusal.message) from refusal

    def _job(self, request: HttpRequest, object_id: str) -> ExportJob:
        window = self._window(request)
        try:
            return find_export(tenant_id=window.tenant_id, export_id=object_id, window=window)
        except ContextOSError as refusal:
            raise Http404 from refusal

    def _page(
        self, request: HttpRequest, template: str, title: str, *, status: int = 200, **more: Any
    ) -> HttpResponse:
        above = (reverse(f"admin:{STEM}_changelist"), "Exports")
        context = frame(request, title, above=above, opts=self.opts, **more)
        return TemplateResponse(request, template, context, status=status)


def state_badge(job: ExportJob) -> SafeString:
    """The state in words; a running one with how far it is."""
    if job.state == ExportState.RUNNING:
        return badge(f"being written, {progress_of(job):.0%}", "info")
    if job.state == ExportState.DONE and not job.has_file:
        return badge("file removed", "neutral")
    return badge(str(ExportState(job.state).label).lower(), _TONES[job.state])
