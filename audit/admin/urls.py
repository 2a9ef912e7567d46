"""Pages of audit that are not about one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from audit.admin.log_page import check_progress_view, log_view
from audit.admin.matching import match_view
from audit.admin.reports import report_export_view, report_view, reports_view
from audit.admin.retention import retention_class_view, retention_view

View = Callable[..., Any]


def audit_urls(guarded: Callable[[View], View]) -> list[URLPattern]:
    """The addresses, each behind the site's guard."""
    return [
        path("audit/log/", guarded(log_view), name="audit_log"),
        path(
            "audit/log/<str:check_id>/progress/",
            guarded(check_progress_view),
            name="audit_log_check_progress",
        ),
        path("audit/reports/", guarded(reports_view), name="audit_reports"),
        path("audit/reports/<slug:key>/", guarded(report_view), name="audit_report"),
        path(
            "audit/reports/<slug:key>/file/",
            guarded(report_export_view),
            name="audit_report_export",
        ),
        path("audit/retention/", guarded(retention_view), name="audit_retention"),
        path(
            "audit/retention/<str:name>/",
            guarded(retention_class_view),
            name="audit_retention_class",
        ),
        path("audit/match/<str:decision_id>/", guarded(match_view), name="audit_match"),
    ]
