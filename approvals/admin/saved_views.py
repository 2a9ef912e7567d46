"""Named views of the queue, one person's own."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.views.decorators.http import require_POST

from approvals.admin.filters import Wanted, read_wanted
from approvals.admin.frame import queue_url
from approvals.labels import name
from approvals.models import SavedView
from approvals.viewer import Viewer

MOST = 20
LONGEST_NAME = 60
_SESSION_KEY = "approvals_views"


@dataclass(frozen=True, slots=True)
class Shown:
    """A view as the queue lists it."""

    pk: int
    name: str
    query: str
    chosen: bool


def views_of(request: HttpRequest, viewer: Viewer, wanted: Wanted) -> list[Shown]:
    """The person's views in this tenant; what stands in them is read as any address is."""
    here = wanted.query(p=1)
    listed = [
        (pk, title, read_wanted(QueryDict(query), viewer).query())
        for pk, title, query in _rows(request, viewer)
    ]
    return [Shown(pk, name(title), query, query == here) for pk, title, query in listed]


def _rows(request: HttpRequest, viewer: Viewer) -> list[tuple[int, str, str]]:
    """Read once per session: they change only by the person's own hand."""
    kept = request.session.get(_SESSION_KEY) or {}
    if viewer.tenant_id not in kept:
        rows = SavedView.objects.filter(tenant_id=viewer.tenant_id, user=viewer.user)[:MOST]
        kept = {**kept, viewer.tenant_id: list(rows.values_list("pk", "name", "query"))}
        request.session[_SESSION_KEY] = kept
    return [(pk, title, query) for pk, title, query in kept[viewer.tenant_id]]


@require_POST
def views_view(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Keep the filters at hand under a name, or forget one."""
    request.session.pop(_SESSION_KEY, None)
    mine = SavedView.objects.filter(tenant_id=viewer.tenant_id, user=viewer.user)
    if "forget" in request.POST:
        wanted = request.POST["forget"]
        mine.filter(pk=wanted if wanted.isdecimal() else 0).delete()
        return HttpResponseRedirect(queue_url())
    query = read_wanted(QueryDict(request.POST.get("query", "")[:1000]), viewer).query(p=1)
    title = " ".join(request.POST.get("name", "").split())[:LONGEST_NAME]
    if not title:
        messages.error(request, "A view needs a name.")
    elif mine.exclude(name=title).count() >= MOST:
        messages.error(request, f"{MOST} views are enough; forget one first.")
    else:
        mine.update_or_create(
            name=title,
            defaults={"query": query.removeprefix("?")},
            create_defaults={
                "query": query.removeprefix("?"),
                "tenant_id": viewer.tenant_id,
                "user": viewer.user,
            },
        )
        messages.success(request, f"Kept as {name(title)}.")
    return HttpResponseRedirect(f"{queue_url()}{query}")
