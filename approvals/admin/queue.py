"""The queue of approvals and the pages of one request; who may not see it gets nothing of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from approvals.admin.bulk import bulk_view
from approvals.admin.confirm import vote_view, withdraw_view
from approvals.admin.detail import detail_context
from approvals.admin.filters import ALL, ENDED, MINE, Wanted, filters_for, read_wanted, rows_for
from approvals.admin.frame import frame, page_url, queue_url, url_of
from approvals.admin.lines import page_of
from approvals.admin.reading import Reading
from approvals.admin.saved_views import views_of, views_view
from approvals.admin.talk import say_view
from approvals.figures import figures_of
from approvals.labels import name
from approvals.models import ApprovalRequest
from approvals.services.votes import APPROVE, REJECT
from approvals.viewer import Pile, Viewer, viewer_of
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.core.text import has_invisible

_BASE = "approvals_approvalrequest"


@dataclass(frozen=True, slots=True)
class _List:
    """What the theme, and tests of every list, expect of one."""

    opts: Any
    result_list: list[ApprovalRequest]


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """A list of its own: ordered by risk and age, made to be decided by keyboard."""

    nav_title = "Approvals"
    nav_icon = "approval"
    nav_order = 10
    nav_badge = "approvals.admin.counts.mine_badge"

    # --- who sees what ------------------------------------------------------------------------
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Requests at the viewer's gates; readers of the tenant see all."""
        viewer = viewer_of(request)
        return ApprovalRequest.objects.none() if viewer is None else viewer.visible()

    def allows(self, request: HttpRequest, verb: str, obj: Model | None = None) -> bool:
        """As everywhere, and never what stands at a gate that is not theirs."""
        if not super().allows(request, verb, obj):
            return False
        if not isinstance(obj, ApprovalRequest):
            return True
        viewer = viewer_of(request)
        return viewer is not None and (viewer.reads_all or obj.gate_id in viewer.gates)

    # --- addresses ----------------------------------------------------------------------------
    def get_urls(self) -> list[URLPattern]:
        """The steps of a decision, and what concerns several requests."""
        guarded = self.admin_site.admin_view
        several = {"bulk": self.bulk_view, "views": self.views_view, "next": self.next_view}
        single = {
            "approve": partial(self.vote_page, verdict=APPROVE),
            "reject": partial(self.vote_page, verdict=REJECT),
            "withdraw": self.withdraw_page,
            "say": self.say_page,
        }
        own = [
            *(
                path(f"{key}/", guarded(view), name=f"{_BASE}_{key}")
                for key, view in several.items()
            ),
            *(
                path(f"<path:object_id>/{key}/", guarded(view), name=f"{_BASE}_{key}")
                for key, view in single.items()
            ),
        ]
        return [*own, *super().get_urls()]

    # --- the queue ----------------------------------------------------------------------------
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Riskiest first, then longest waiting; identical asks in one line."""
        viewer = self._viewer(request)
        piles = viewer.piles("capability_id", "effective_mode")
        viewer.own_piles = piles
        wanted = read_wanted(request.GET, viewer)
        page = page_of(rows_for(viewer, wanted), wanted, figures_of(request))
        context = {
            **admin.site.each_context(request),
            "title": "Approvals",
            "trail": [("", "Approvals")],
            "cl": _List(self.opts, page.rows),
            "viewer": viewer,
            "wanted": wanted,
            "page": page,
            "tabs": _tabs(viewer, wanted, piles),
            "filters": filters_for(wanted, piles),
            "agents": sorted({r.agent_id for r in page.rows if not has_invisible(r.agent_id)}),
            "views": views_of(request, viewer, wanted),
            "here": wanted.query(p=1),
            "older": wanted.query(p=wanted.p + 1) if page.more else "",
            "newer": wanted.query(p=wanted.p - 1) if wanted.p > 1 else "",
            "close_heap": wanted.query(like="", p=1) if wanted.like else "",
            "bulk_url": page_url("bulk"),
            "views_url": page_url("views"),
            "may_vote": bool(viewer.gates),
            "ticks": bool(viewer.gates) and any(line.bulk for line in page.lines),
        }
        return TemplateResponse(request, "approvals/queue.html", context)

    def next_view(self, request: HttpRequest) -> HttpResponse:
        """On to the next request that waits for this person; without one, back to the queue."""
        viewer = self._viewer(request)
        following = viewer.mine().exclude(pk=request.GET.get("after", "")[:40])
        pk = following.values_list("pk", flat=True).first()
        if pk is None:
            messages.info(request, "Nothing else waits for you.")
            return HttpResponseRedirect(queue_url())
        return HttpResponseRedirect(url_of(pk))

    def bulk_view(self, request: HttpRequest) -> HttpResponse:
        """Several at once."""
        return bulk_view(request, self._voter(request))

    def views_view(self, request: HttpRequest) -> HttpResponse:
        """Named views."""
        return views_view(request, self._viewer(request))

    # --- one request --------------------------------------------------------------------------
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """All about one request; nothing is decided here."""
        if request.method != "GET":
            raise PermissionDenied
        return self._detail(request, self._reading(request, object_id))

    def vote_page(self, request: HttpRequest, object_id: str, verdict: str) -> HttpResponse:
        """The confirm step."""
        return vote_view(request, self._reading(request, object_id), verdict)

    def withdraw_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Taking one's vote back."""
        return withdraw_view(request, self._reading(request, object_id))

    def say_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A comment, a question, an answer."""
        reading = self._reading(request, object_id)
        return say_view(request, reading, partial(self._detail, request, reading, status=422))

    def _detail(
        self,
        request: HttpRequest,
        reading: Reading,
        more: dict[str, Any] | None = None,
        *,
        status: int = 200,
    ) -> HttpResponse:
        context = {
            **frame(request, name(reading.request.capability_id)),
            **detail_context(request, reading),
            "voted": "voted" in request.GET,
            **(more or {}),
        }
        return TemplateResponse(request, "approvals/request.html", context, status=status)

    # --- guards -------------------------------------------------------------------------------
    def _viewer(self, request: HttpRequest) -> Viewer:
        viewer = viewer_of(request)
        if viewer is None or not self.has_view_permission(request):
            raise PermissionDenied
        return viewer

    def _voter(self, request: HttpRequest) -> Viewer:
        viewer = self._viewer(request)
        if not viewer.gates:
            raise PermissionDenied
        return viewer

    def _reading(self, request: HttpRequest, object_id: str) -> Reading:
        viewer = self._viewer(request)
        found = self.get_object(request, object_id)
        if not isinstance(found, ApprovalRequest):
            raise Http404
        return Reading(viewer, found)


def _tabs(viewer: Viewer, wanted: Wanted, piles: list[Pile]) -> list[dict[str, Any]]:
    every = sum(pile.count for pile in piles)
    tabs = [
        (MINE, "Mine to decide", viewer.mine_count),
        (ALL, "All waiting", every),
        (ENDED, "Decided and closed", None),
    ]
    return [
        {
            "title": title,
            "count": count,
            "url": Wanted(show=key).query(),
            "chosen": wanted.show == key,
        }
        for key, title, count in tabs
        if key != MINE or viewer.gates
    ]
