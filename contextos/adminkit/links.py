"""Addresses of admin pages; none for models that have no page."""

from __future__ import annotations

from typing import Literal

from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

Page = Literal["changelist", "add", "change", "history"]


def admin_url(model: type[Model], page: Page = "changelist", pk: object = None) -> str:
    """The page's address, or nothing when the model is not registered."""
    opts = model._meta
    try:
        arguments = [] if pk is None else [pk]
        return reverse(f"admin:{opts.app_label}_{opts.model_name}_{page}", args=arguments)
    except NoReverseMatch:
        return ""


def named_url(name: str, *arguments: object) -> str:
    """The address that goes by a name, or nothing where this site has no such page."""
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return ""


def may(request: HttpRequest, verb: str, model: type[Model]) -> bool:
    """Whether the person may do this to the model in the tenant they act in."""
    opts = model._meta
    return request.user.has_perm(f"{opts.app_label}.{verb}_{opts.model_name}")
