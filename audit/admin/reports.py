"""Pages of the standing reports: which there are, and each with its period, figures and records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from audit.access import Window
from audit.admin.periods import PeriodForm, usual_period
from audit.admin.window import window_for
from audit.export.services import ExportRequest, request_export
from audit.models import AuditEvent, ExportJob
from audit.reports import Cell, Kind, RecordRef, ReportTable
from audit.reports.catalogue import REPORTS
from audit.reports.types import StandingReport
from audit.reports.viewing import view_report
from contextos.adminkit.links import admin_url, may, named_url
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of

SHOWN = 500


def reports_view(request: HttpRequest) -> HttpResponse:
    """Every standing report with its question."""
    window = _window(request)
    context = _frame(request, "Standing reports", window)
    return TemplateResponse(
        request, "audit/reports.html", {**context, "reports": list(REPORTS.values())}
    )


def report_view(request: HttpRequest, key: str) -> HttpResponse:
    """One report about the period that was asked for."""
    window, report = _window(request), REPORTS.get(key)
    if report is None:
        raise Http404
    form = PeriodForm(usual_period() | request.GET.dict())
    context = _frame(
        request,
        report.title,
        window,
        above=(reverse("admin:audit_reports"), "Standing reports"),
        form=form,
        report=report,
    )
    if not form.is_valid():
        return TemplateResponse(request, "audit/report.html", context, status=422)
    since, until = form.moments()
    try:
        table = view_report(
            report, window=window, since=since, until=until, actor=actor_of(request)
        )
    except ContextOSError as refusal:
        context["refusal"] = f"{refusal.message} {refusal.remediation}"
        return TemplateResponse(request, "audit/report.html", context, status=403)
    context["may_export"] = may(request, "add", ExportJob)
    return TemplateResponse(request, "audit/report.html", {**context, **_shown(table)})


def report_export_view(request: HttpRequest, key: str) -> HttpResponse:
    """The same report as a file: an export like every other, recorded and fetched from its page."""
    window, report = _window(request), REPORTS.get(key)
    if report is None or request.method != "POST":
        raise Http404
    if not may(request, "add", ExportJob):
        raise PermissionDenied
    form = PeriodForm(usual_period() | request.POST.dict())
    try:
        if not form.is_valid():
            raise coded_error("export.report_period")
        job = _requested(request, report, form.moments(), window)
    except ContextOSError as refusal:
        messages.error(request, f"{refusal.message} {refusal.remediation}")
        return HttpResponseRedirect(reverse("admin:audit_report", args=[key]))
    messages.success(request, "The file is on its way; this page follows it.")
    return HttpResponseRedirect(admin_url(ExportJob, "change", job.pk))


def _requested(
    request: HttpRequest,
    report: StandingReport,
    moments: tuple[datetime, datetime],
    window: Window,
) -> ExportJob:
    since, until = moments
    asked = ExportRequest(
        format=request.POST.get("format", ""),
        filter={"from": format_time(since), "to": format_time(until)},
        title=report.title,
        standing=report.key,
    )
    return request_export(
        tenant_id=window.tenant_id, request=asked, actor=actor_of(request), window=window
    )


def _window(request: HttpRequest) -> Window:
    user: Any = request.user
    if not user.has_perm("audit.view_decisionrow"):
        raise PermissionDenied
    return window_for(request)


def _frame(
    request: HttpRequest,
    title: str,
    window: Window,
    *,
    above: tuple[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    trail = [above, ("", title)] if above else [("", title)]
    site = admin.site.each_context(request)
    now = utcnow()
    return {**site, "title": title, "trail": trail, "window": window, "now": now, **more}


def _shown(table: ReportTable) -> dict[str, Any]:
    kinds = [column.kind for column in table.columns]
    refs = table.refs or (None,) * len(table.rows)
    lines = [
        {"cells": list(_cells(row, kinds)), "url": _address(ref)}
        for row, ref in zip(table.rows[:SHOWN], refs, strict=False)
    ]
    return {
        "table": table,
        "figures": [
            {"label": item.label, "value": _words(item.value, item.kind), "says": item.says}
            for item in table.figures
        ],
        "columns": [
            {
                "title": column.title,
                "is_number": _is_number(column.kind),
                "is_moment": column.kind is Kind.MOMENT,
            }
            for column in table.columns
        ],
        "lines": lines,
        "has_links": any(line["url"] for line in lines),
        "hidden": max(0, len(table.rows) - SHOWN),
    }


def _cells(row: tuple[Cell, ...], kinds: list[Kind]) -> Iterator[dict[str, Any]]:
    for value, kind in zip(row, kinds, strict=True):
        moment = value if isinstance(value, datetime) else None
        yield {
            "moment": moment,
            "text": "" if moment else _words(value, kind),
            "is_number": _is_number(kind),
        }


def _words(value: Cell, kind: Kind) -> str:
    """A value as people read it; what others wrote shows what would not be seen."""
    if value is None or value == "":
        return "–"
    if isinstance(value, str | datetime):
        return reveal_invisible(str(value))
    if kind is Kind.SHARE:
        return f"{value:.1%}"
    if kind is Kind.SECONDS:
        return span(float(value))
    return f"{value:,}"


def span(seconds: float) -> str:
    """`0.8 s`, `12.0 s`, `3.5 min`, `2.0 h`, `1.2 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def _is_number(kind: Kind) -> bool:
    return kind in (Kind.NUMBER, Kind.SHARE, Kind.SECONDS)


def _address(ref: RecordRef | None) -> str:
    if ref is None:
        return ""
    if ref.kind == "event":
        return admin_url(AuditEvent, "change", ref.id)
    return named_url("admin:gateway_record", ref.id)
