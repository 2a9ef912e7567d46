"""Pages of long lists by the last id shown: the thousandth page costs what the first does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest

from gateway.admin.frame import asked_for

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class KeysetPage:
    """Some rows, and where the next ones are."""

    rows: Sequence[Any]
    next_url: str = ""
    is_first: bool = True


def page_of(request: HttpRequest, rows: QuerySet[Any], *, oldest_first: bool = False) -> KeysetPage:
    """The rows after the cursor in the address, in the order of their ids."""
    cursor = asked_for(request, "after", longest=40)
    if cursor:
        rows = rows.filter(**{"pk__gt" if oldest_first else "pk__lt": cursor})
    found = list(rows.order_by("pk" if oldest_first else "-pk")[: PER_PAGE + 1])
    more = len(found) > PER_PAGE
    shown = found[:PER_PAGE]
    return KeysetPage(
        shown, next_address(request, str(shown[-1].pk)) if more else "", is_first=not cursor
    )


def next_address(request: HttpRequest, cursor: str) -> str:
    """The same page with the same filters, after that id."""
    kept = {name: value for name, value in request.GET.items() if name != "after" and value}
    return f"?{urlencode({**kept, 'after': cursor})}"
