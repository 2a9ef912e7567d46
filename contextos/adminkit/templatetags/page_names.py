"""What pages are called in the browser's tab and in the trail: our words instead of Django's."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib.admin import ModelAdmin, site
from django.db.models import Model
from django.template import Context

from contextos.adminkit.links import admin_url
from contextos.adminkit.navigation import list_name

register = template.Library()
Trail = list[tuple[str, str]]


@register.simple_tag(takes_context=True)
def page_title(context: Context) -> str:
    """The name of the page; the site's name is put behind it."""
    if context.get("trail") or not context.get("opts"):
        before = f"{context['subtitle']} | " if context.get("subtitle") else ""
        return f"{before}{context.get('title', '')}"
    return " | ".join(text for _, text in reversed(_trail(context)))


@register.simple_tag(takes_context=True)
def page_trail(context: Context) -> Trail:
    """From the list to this page, as (address, words); the page's own where it brings one."""
    return context.get("trail") or (_trail(context) if context.get("opts") else [])


def _trail(context: Context) -> Trail:
    model = context["opts"].model
    name = context.get("page_name") or list_name(site._registry.get(model), model)
    here = _words_for_object(context)
    return [(admin_url(model), name), ("", here)] if here else [("", name)]


def _words_for_object(context: Context) -> str:
    found = context.get("original") or context.get("object")
    if isinstance(found, Model):
        return object_name(site._registry.get(type(found)), found)
    return "" if "cl" in context else str(context.get("title", ""))


def object_name(model_admin: ModelAdmin[Any] | None, found: Model) -> str:
    """What one object is called; an admin says it with `name_of` where `str()` is no word."""
    name_of = getattr(model_admin, "name_of", str)
    return str(name_of(found))
