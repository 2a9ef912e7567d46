"""The menu: grouped by the four verbs, with only those pages that the person may open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.admin import ModelAdmin, site
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from contextos.adminkit.links import admin_url, named_url

GROUPS = ("Registry", "Approvals", "Gateway", "Audit", "Identity", "System")
ELSEWHERE = "System"


@dataclass(frozen=True, slots=True)
class MenuLine:
    """A page that belongs to a model's page and has a line of its own, by its URL's name."""

    title: str
    icon: str
    url_name: str
    order: int = 100
    badge: str | None = None  # the dotted path of a function of the request
    permission: str = ""  # what the page asks for beyond the model's own


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu."""

    group: str
    order: int
    title: str
    icon: str
    url: str
    badge: str | None


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups in the shape that unfold draws; groups without an entry are left out."""
    entries = entries_for(request)
    groups = [
        {"title": name, "items": [_item(entry) for entry in entries if entry.group == name]}
        for name in GROUPS
    ]
    front = {
        "title": None,
        "items": [{"title": "Front page", "icon": "home", "link": reverse("admin:index")}],
    }
    return [front, *(group for group in groups if group["items"])]


def entries_for(request: HttpRequest) -> list[Entry]:
    """The pages this person may open, in menu order."""
    allowed = [
        entry
        for model_admin in site._registry.values()
        if getattr(model_admin, "nav_shown", True) and may_open(request, model_admin)
        for entry in _entries(request, model_admin)
    ]
    reachable = [entry for entry in allowed if entry.url]
    return sorted(
        reachable, key=lambda entry: (GROUPS.index(entry.group), entry.order, entry.title)
    )


def may_open(request: HttpRequest, model_admin: ModelAdmin[Any]) -> bool:
    """The very checks that the page itself makes."""
    return model_admin.has_module_permission(request) and model_admin.has_view_permission(request)


def _entries(request: HttpRequest, model_admin: ModelAdmin[Any]) -> list[Entry]:
    return [
        entry
        for entry, permission in _lines(model_admin)
        if not permission or request.user.has_perm(permission)
    ]


@cache
def _lines(model_admin: ModelAdmin[Any]) -> tuple[tuple[Entry, str], ...]:
    """A page and those that belong to it, with what each asks for; the same for everybody."""
    own = _entry(model_admin)
    lines: Sequence[MenuLine] = getattr(model_admin, "nav_more", ())
    more = [
        (
            Entry(
                own.group, line.order, line.title, line.icon, named_url(line.url_name), line.badge
            ),
            line.permission,
        )
        for line in lines
    ]
    return ((own, ""), *more)


def _entry(model_admin: ModelAdmin[Any]) -> Entry:
    group = getattr(model_admin, "nav_group", None) or model_admin.opts.app_label.capitalize()
    return Entry(
        group=group if group in GROUPS else ELSEWHERE,
        order=getattr(model_admin, "nav_order", 100),
        title=list_name(model_admin, model_admin.model),
        icon=getattr(model_admin, "nav_icon", "") or "database",
        url=admin_url(model_admin.model),
        badge=getattr(model_admin, "nav_badge", None),
    )


def list_name(model_admin: ModelAdmin[Any] | None, model: type[Model]) -> str:
    """What the list of a model is called, in the menu as on the page."""
    plural = str(model._meta.verbose_name_plural)
    return getattr(model_admin, "nav_title", "") or plural[:1].upper() + plural[1:]


def _item(entry: Entry) -> dict[str, Any]:
    item: dict[str, Any] = {"title": entry.title, "icon": entry.icon, "link": entry.url}
    # Unfold calls a badge only when given by dotted path.
    return item | {"badge": entry.badge, "badge_variant": "primary"} if entry.badge else item
