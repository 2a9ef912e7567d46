"""The call explorer: every governed call, where it stands, and what can be done about it."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin.window import within_window
from contextos.adminkit.actions import display
from contextos.adminkit.display import mode_badge, when
from contextos.adminkit.navigation import MenuLine
from contextos.core.text import reveal_invisible
from gateway.admin.call_page import call_context
from gateway.admin.cancelling import cancel_page
from gateway.admin.explorer import ExplorerAdmin
from gateway.admin.filters import (
    AgentFilter,
    AttentionFilter,
    CallAdapterFilter,
    CapabilityFilter,
    CreatedFilter,
    ModeFilter,
    StateFilter,
)
from gateway.admin.frame import frame
from gateway.admin.labels import (
    age,
    named_cell,
    on_behalf,
    stacked,
    state_badge,
    waiting_words,
    write_badge,
)
from gateway.admin.mode_correcting import correct_mode_page
from gateway.admin.people import with_person
from gateway.models import Run, ToolCall

_TRACE = re.compile(r"[0-9a-f]{32}")
# Big, or nobody's business in a list.
_NOT_LISTED = ("envelope", "result", "task", "input_request")


@admin.register(ToolCall)
class ToolCallAdmin(ExplorerAdmin):
    """Calls, newest first."""

    list_display = [
        "what",
        "state_label",
        "risk",
        "who",
        "tries",
        "created",
    ]
    list_filter = [
        StateFilter,
        AttentionFilter,
        CapabilityFilter,
        CallAdapterFilter,
        ModeFilter,
        AgentFilter,
        CreatedFilter,
    ]
    search_fields = ["tool_call_id"]  # see get_search_results
    search_help_text = "The exact id of a call, a decision, a run or a trace."
    sortable_by = ()
    ordering = ["-tool_call_id"]
    nav_title = "Calls"
    nav_icon = "swap_horiz"
    nav_order = 20
    nav_more = [
        MenuLine("Dashboard", "monitoring", "admin:gateway_dashboard", 5),
        MenuLine("Refusals", "gpp_bad", "admin:gateway_refusals", 30),
        MenuLine(
            "Reconcile", "rule", "admin:gateway_reconcile", 40, "gateway.panels.unknown_count"
        ),
        MenuLine("Dead letters", "unsubscribe", "admin:gateway_dead_letters", 50),
        MenuLine("Replays", "replay", "admin:gateway_replays", 60),
    ]
    empty_title = "No calls yet"
    empty_text = (
        "Every call of a capability that was accepted appears here with its state, its attempts "
        "and its record. Refused calls are under Refusals. Open a run and call something."
    )

    # --- the list -----------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the envelopes; people by name."""
        rows: QuerySet[Any] = super().get_queryset(request).defer(*_NOT_LISTED)
        return with_person(within_window(request, rows))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By the kind of id, each through an index of its own; OR would use none of them."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.startswith("dec_"):
            return queryset.filter(decision_id=term), False
        if term.startswith("run_"):
            return queryset.filter(run_id=term), False
        if _TRACE.fullmatch(term):
            runs = Run.objects.filter(trace_id=term).values("run_id")
            return queryset.filter(run_id__in=runs), False
        return queryset.filter(tool_call_id=term), False

    @display(description="Call")
    def what(self, call: ToolCall) -> SafeString:
        """The capability, whose it is, and the id."""
        adapter = reveal_invisible(f"{call.adapter_id}@{call.adapter_version}")
        return named_cell(reveal_invisible(call.capability_id), adapter, call.tool_call_id)

    @display(description="State")
    def state_label(self, call: ToolCall) -> SafeString:
        """Where it stands, what it waits for, the code it ended with."""
        dead = "dead letter" if call.dead_letter else ""
        error = reveal_invisible(call.error_code)
        return stacked(state_badge(call.state), waiting_words(call), error, dead)

    @display(description="Mode")
    def risk(self, call: ToolCall) -> SafeString:
        """How far it may go, and whether it can change something."""
        return stacked(format_html("{} {}", mode_badge(call.mode_effective), write_badge(call)))

    @display(description="Agent")
    def who(self, call: Any) -> SafeString:
        """The agent on behalf of a person."""
        return on_behalf(call.agent_id, call.user_name or call.user_id)

    @display(description="Attempts")
    def tries(self, call: ToolCall) -> int:
        """How often it was tried."""
        return call.attempts

    @display(description="Created")
    def created(self, call: ToolCall) -> SafeString:
        """When, and how long it took."""
        taken = "took" if call.finished_at else "going on for"
        return stacked(when(call.created_at), f"{taken} {age(call.created_at, call.finished_at)}")

    # --- one call -----------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """The pages that cancel and that correct the mode."""
        guarded = self.admin_site.admin_view
        cancel = path(
            "<path:object_id>/cancel/", guarded(self.cancel_view), name="gateway_toolcall_cancel"
        )
        correct = path(
            "<path:object_id>/mode/", guarded(self.mode_view), name="gateway_toolcall_mode"
        )
        return [cancel, correct, *super().get_urls()]

    def page(self, request: HttpRequest, row: Any) -> HttpResponse:
        """State, way, envelopes and record of one call."""
        above = (reverse("admin:gateway_toolcall_changelist"), "Calls")
        context = {
            **frame(request, reveal_invisible(row.capability_id), above=above),
            "opts": self.opts,
            "original": row,
            **call_context(request, row),
        }
        return TemplateResponse(request, "gateway/call.html", context)

    def cancel_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask why, then cancel."""
        return cancel_page(request, self.readable(request, object_id))

    def mode_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Ask what it really did, then record it."""
        return correct_mode_page(request, self.readable(request, object_id))
