"""The run explorer: who acts for whom, within which budget, and what it may call now."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin.window import within_window
from contextos.adminkit.actions import display
from contextos.adminkit.display import badge, mode_badge, when
from contextos.core.text import reveal_invisible, single_line
from gateway.admin.budget import Bar, bars_of
from gateway.admin.explorer import ExplorerAdmin
from gateway.admin.filters import AgentFilter, BudgetFilter, CreatedFilter, EnvironmentFilter
from gateway.admin.frame import frame
from gateway.admin.labels import length, named_cell, on_behalf, stacked
from gateway.admin.people import with_person
from gateway.admin.run_page import run_context
from gateway.models import Run


@admin.register(Run)
class RunAdmin(ExplorerAdmin):
    """Runs, newest first."""

    list_display = ["what", "who", "mode", "used", "left", "created"]
    list_filter = [BudgetFilter, AgentFilter, EnvironmentFilter, CreatedFilter]
    search_fields = ["=run_id", "=trace_id", "=intent"]
    search_help_text = "The exact id of a run or a trace, or the exact intent."
    sortable_by = ()
    ordering = ["-run_id"]
    nav_title = "Runs"
    nav_icon = "play_circle"
    nav_order = 10
    empty_title = "No runs yet"
    empty_text = (
        "An agent opens a run before it calls anything: for an intent, within a budget, on the "
        "versions that are published at that moment. Issue the agent a token and let it open one."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the documents; people by name."""
        rows: QuerySet[Any] = super().get_queryset(request).defer("document", "pins")
        return with_person(within_window(request, rows))

    @display(description="Run")
    def what(self, run: Run) -> SafeString:
        """What for, and the id below it."""
        return named_cell(single_line(run.intent, limit=120), run.run_id)

    @display(description="Agent")
    def who(self, run: Any) -> SafeString:
        """Who acts for whom."""
        return on_behalf(run.agent_id, run.user_name or run.user_id)

    @display(description="Safety mode")
    def mode(self, run: Run) -> SafeString:
        """The highest mode it may reach, and where."""
        return stacked(mode_badge(run.safety_mode), run.environment)

    @display(description="Used")
    def used(self, run: Run) -> SafeString:
        """Calls, and money spent or reserved, of how much."""
        calls, cost = bars_of(run, timezone.now())[:2]
        return format_html('<span class="gw-cell">{}{}</span>', _use(calls), _use(cost))

    @display(description="Left")
    def left(self, run: Run) -> SafeString:
        """Until it ends."""
        now = timezone.now()
        if now >= run.expires_at:
            return badge("over")
        return badge(length(run.expires_at - now), "success")

    @display(description="Opened")
    def created(self, run: Run) -> SafeString:
        """When."""
        return when(run.created_at)

    def page(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Budget, calls and tool manifest of one run."""
        above = (reverse("admin:gateway_run_changelist"), "Runs")
        context = {
            **frame(request, reveal_invisible(row.intent), above=above),
            "opts": self.opts,
            "original": row,
            **run_context(request, row),
        }
        return TemplateResponse(request, "gateway/run.html", context)


def _use(bar: Bar) -> SafeString:
    return format_html(
        '<span class="gw-use gw-use--{}">{}: {}</span>', bar.tone, bar.title, bar.said
    )
