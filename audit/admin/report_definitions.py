"""Reports that come by themselves: their terms, their last files, and running one now."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from audit.admin.exports import state_badge
from audit.export.reports import (
    ReportTerms,
    change_report,
    define_report,
    last_exports,
    run_report,
)
from audit.models import ReportDefinition
from contextos.adminkit.actions import display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.display import badge, when
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.identity.models import User

STEM = "audit_reportdefinition"


class ReportForm(forms.ModelForm[ReportDefinition]):
    """Terms as people write them down."""

    question = forms.CharField(
        label="Filter",
        required=False,
        help_text="As the address of a search has it: capability=payments.issue_refund&"
        "status=EXECUTED. Empty: all records. The period follows from how often it is written.",
    )
    people = forms.CharField(
        label="Readers",
        required=False,
        help_text="Sign-in names with commas between. They get a link, never the file; each needs "
        "the right to read records when they fetch it.",
    )

    class Meta:
        model = ReportDefinition
        fields = ["name", "format", "sample_size", "cadence", "hour", "time_zone", "is_active"]
        help_texts = {
            "sample_size": "So many records, drawn at random with a seed that is printed.",
            "hour": "From 0 to 23, in the time zone below.",
            "time_zone": "Such as UTC, Europe/Berlin or Asia/Kolkata: where its days begin.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            known = User.objects.filter(user_id__in=self.instance.readers)
            self.fields["question"].initial = urlencode(self.instance.filter)
            self.fields["people"].initial = ", ".join(user.username for user in known)

    def terms(self) -> ReportTerms:
        """What was filled in; columns stay as they were."""
        given = self.cleaned_data
        return ReportTerms(
            name=given["name"],
            format=given["format"],
            filter=dict(parse_qsl(given["question"].lstrip("?"), keep_blank_values=True)),
            columns=self.instance.columns,
            sample_size=given["sample_size"],
            cadence=given["cadence"],
            hour=given["hour"],
            time_zone=given["time_zone"],
            readers=[name.strip() for name in given["people"].split(",") if name.strip()],
            is_active=given["is_active"],
        )


@admin.register(ReportDefinition)
class ReportDefinitionAdmin(TenantScopedAdmin):
    """Each run is an export, recorded and bounded as every other."""

    form = ReportForm
    fields = [
        *("name", "format", "question", "sample_size", "cadence", "hour", "time_zone"),
        *("people", "is_active", "last_file"),
    ]
    readonly_fields = ["last_file"]
    list_display = ["name_label", "state_label", "format", "cadence", "next_due", "last_file"]
    ordering = ["name"]
    search_fields = ["name"]
    change_form_outer_after_template = "audit/report_run.html"
    nav_title = "Scheduled reports"
    nav_icon = "schedule_send"
    nav_order = 45
    empty_title = "No report is defined"
    empty_text = (
        "A report is a filter, a form and a cadence under a name. It is written by itself, and "
        "its readers get a link to it."
    )
    empty_action = ("Define a report", f"admin:{STEM}_add")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The newest files of all rows of the page are read in one statement."""
        shown = super().get_changelist_instance(request)
        shown.result_list = list(shown.result_list)
        newest = last_exports(shown.result_list)
        for row in shown.result_list:
            row.newest = newest.get(row.pk)
        return shown

    @display(description="Report", ordering="name")
    def name_label(self, row: ReportDefinition) -> str:
        """Its name."""
        return single_line(row.name, limit=120)

    @display(description="State")
    def state_label(self, row: ReportDefinition) -> SafeString:
        """Whether it comes by itself, and if not, why."""
        if row.stopped_because:
            return badge(single_line(f"stopped: {row.stopped_because}", limit=140), "danger")
        if not row.is_active:
            return badge("switched off", "neutral")
        return badge("on", "success") if row.cadence else badge("only when asked for", "neutral")

    @display(description="Due next", ordering="next_run_at")
    def next_due(self, row: ReportDefinition) -> SafeString | str:
        """When it is written next."""
        return when(row.next_run_at) if row.next_run_at and row.is_active else "not by itself"

    @display(description="Last file")
    def last_file(self, row: Any) -> SafeString | str:
        """The newest export of it; a list reads those of all its rows at once."""
        job = row.newest if hasattr(row, "newest") else last_exports([row]).get(row.pk)
        if job is None:
            return "none yet"
        url = reverse("admin:audit_exportjob_change", args=[job.pk])
        return format_html('<a class="cos-link" href="{}">{}</a> {}', url, job.pk, state_badge(job))

    def perform_create(self, request: HttpRequest, form: Any) -> ReportDefinition:
        """Write it down."""
        return define_report(
            tenant_id=acting_tenant_id(request), terms=form.terms(), actor=actor_of(request)
        )

    def perform_update(self, request: HttpRequest, form: Any) -> ReportDefinition:
        """Other terms from now on."""
        return change_report(
            tenant_id=acting_tenant_id(request),
            report_id=form.instance.pk,
            terms=form.terms(),
            actor=actor_of(request),
        )

    def get_urls(self) -> list[URLPattern]:
        """Running one now, before Django's own pages."""
        run = self.admin_site.admin_view(require_POST(self.run_view))
        return [path("<path:object_id>/run/", run, name=f"{STEM}_run"), *super().get_urls()]

    def run_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Have it written now."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_change_permission(request, row):
            raise PermissionDenied
        try:
            run = run_report(tenant_id=row.tenant_id, report_id=row.pk, actor=actor_of(request))
        except ContextOSError as refusal:
            messages.error(request, f"{refusal.message} {refusal.remediation}")
            return HttpResponseRedirect(reverse(f"admin:{STEM}_change", args=[row.pk]))
        messages.success(request, "The report is being written.")
        return HttpResponseRedirect(reverse("admin:audit_exportjob_change", args=[run.export_id]))
