"""The auditor's search: records by any combination of filters, in columns of one's choice (E3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from audit.access import Window
from audit.admin.record_columns import Column, Known, approvers_of, chosen_columns
from audit.admin.record_form import column_keys, flat, form_context, read_asked
from audit.admin.saved_searches import cleaned_query, forget_search, keep_search, searches_of
from audit.admin.window import window_for
from audit.amounts import amounts_of
from audit.clearance import CLASS_OF_VALUES
from audit.models import DecisionRow
from audit.record_filter import RecordFilter
from audit.record_texts import StoredRecord, with_texts
from audit.search import PER_PAGE, FoundPage, estimated_count, page_of_records
from audit.views_recorded import record_search
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.identity.actors import actor_of
from contextos.identity.models import User

SURFACE = "admin"


@dataclass(frozen=True, slots=True)
class _List:
    """What the theme, and tests of every list, expect of one."""

    opts: Any
    result_list: Sequence[DecisionRow]


@admin.register(DecisionRow)
class DecisionRowAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Searches through one selector; a record opens as its story."""

    nav_title = "Records"
    nav_icon = "fact_check"
    nav_order = 5

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The acting tenant's rows within the person's window."""
        return window_for(request).limit(super().get_queryset(request))

    def get_urls(self) -> list[URLPattern]:
        """Keeping a search under a name."""
        keep = self.admin_site.admin_view(self.searches_view)
        return [path("searches/", keep, name="audit_searches"), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Newest first; a filter that can't be read is said, and nothing is shown."""
        if not self.has_view_permission(request):
            window_for(request)  # whoever was an auditor here reads that it is over, and since when
            raise PermissionDenied
        window, asked = window_for(request), cleaned_query(request.GET.urlencode())
        try:
            wanted = read_asked(asked)
            page = page_of_records(wanted, window=window, after=request.GET.get("after", "")[:40])
        except ContextOSError as refusal:
            context = {**self._frame(request, window, asked), "refusal": refusal, "lines": []}
            return TemplateResponse(request, "audit/records.html", context, status=400)
        record_search(window=window, actor=actor_of(request), wanted=wanted, surface=SURFACE)
        context = {
            **self._frame(request, window, asked),
            **_results(page, window, asked),
            "cl": _List(self.opts, page.heads),
            "is_narrowed": wanted.is_narrowed,
            "is_first": "after" not in request.GET,
            "how_many": _how_many(page, wanted, window, first="after" not in request.GET),
        }
        return TemplateResponse(request, "audit/records.html", context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A row leads to the story of its decision."""
        found = self.get_object(request, object_id)
        if not isinstance(found, DecisionRow) or not self.has_view_permission(request, found):
            raise Http404
        return HttpResponseRedirect(story_url(found.decision_id))

    def searches_view(self, request: HttpRequest) -> HttpResponse:
        """Keep the search at hand, or forget one."""
        if request.method != "POST" or not isinstance(request.user, User):
            raise PermissionDenied
        user, tenant_id = request.user, window_for(request).tenant_id
        query = cleaned_query(request.POST.get("query", "")).urlencode()
        if "forget" in request.POST:
            forget_search(user=user, tenant_id=tenant_id, pk=request.POST["forget"])
        else:
            try:
                name = request.POST.get("name", "")
                kept = keep_search(user=user, tenant_id=tenant_id, name=name, query=query)
                messages.success(request, f"Kept as {single_line(kept.name)}.")
            except ContextOSError as refusal:
                messages.error(request, f"{refusal.message} {refusal.remediation}")
        return HttpResponseRedirect(f"{list_url()}?{query}")

    def _frame(self, request: HttpRequest, window: Window, asked: QueryDict) -> dict[str, Any]:
        here, user = asked.urlencode(), request.user
        return {
            **admin.site.each_context(request),
            "title": "Records",
            "trail": [("", "Records")],
            "window": window,
            "here": here,
            **form_context(asked, sees_values=window.reads(CLASS_OF_VALUES)),
            "searches": searches_of(user, window.tenant_id, here=here)
            if isinstance(user, User)
            else [],
            "searches_url": reverse("admin:audit_searches"),
        }


def list_url() -> str:
    """The search."""
    return reverse("admin:audit_decisionrow_changelist")


def story_url(decision_id: str) -> str:
    """The page that tells a decision; it joins several rooms and so stands in the gateway."""
    return reverse("admin:gateway_record", args=[decision_id])


def _results(page: FoundPage, window: Window, asked: QueryDict) -> dict[str, Any]:
    rows = with_texts(page.heads)
    columns = _columns(asked, window)
    known = _known(rows, window)
    following = {**flat(asked), "after": page.next_after}
    return {
        "headings": columns,
        "lines": [_line(row, columns, known) for row in rows],
        "next_url": f"?{urlencode(following, doseq=True)}" if page.next_after else "",
    }


def _line(row: StoredRecord, columns: Sequence[Column], known: Known) -> dict[str, Any]:
    return {
        "url": story_url(row.head.decision_id),
        "name": single_line(row.head.capability_id, limit=120) or "no capability named",
        "id": row.head.decision_id,
        "cells": [(column.title, column.value(row, known)) for column in columns],
    }


def _columns(asked: QueryDict, window: Window) -> list[Column]:
    return chosen_columns(column_keys(asked), sees_values=window.reads(CLASS_OF_VALUES))


def _known(rows: Sequence[StoredRecord], window: Window) -> Known:
    ids = {one for row in rows for one in (row.head.user_id, *approvers_of(row.record))}
    people = User.objects.filter(user_id__in=ids).values_list("user_id", "username")
    decisions = [row.head.decision_id for row in rows]
    return Known(dict(people), amounts_of(tenant_id=window.tenant_id, decision_ids=decisions))


def _how_many(page: FoundPage, wanted: RecordFilter, window: Window, *, first: bool) -> str:
    """Exact when all fit on the page, else the planner's estimate; never a count."""
    if page.next_after is None:
        return f"{len(page.heads)} found" if first else ""
    estimate = estimated_count(wanted, window=window)
    if estimate is None or estimate <= PER_PAGE:
        return f"more than {PER_PAGE}"
    return f"about {_rounded(estimate):,}"


def _rounded(number: int) -> int:
    """Two figures: an estimate is no better than that."""
    size = int(10 ** max(0, len(str(number)) - 2))
    return round(number / size) * size
