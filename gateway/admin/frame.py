"""What every page of the gateway carries, and what its address asks for."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


def asked_for(request: HttpRequest, name: str, *, longest: int = 200) -> str:
    """What the address says; U+0000, which no database can look for, is left out."""
    return request.GET.get(name, "").replace("\x00", "").strip()[:longest]


def frame(
    request: HttpRequest, title: str, *, above: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The context of a page; `above` is the page that leads here, as (address, name)."""
    trail = [above, ("", title)] if above else [("", title)]
    return {**admin.site.each_context(request), "title": title, "trail": trail, **more}
