"""What every page of the gateway carries: the site's context, a title, a trail."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


def frame(
    request: HttpRequest, title: str, *, above: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The context of a page; `above` is the page that leads here, as (address, name)."""
    trail = [above, ("", title)] if above else [("", title)]
    return {**admin.site.each_context(request), "title": title, "trail": trail, **more}
