"""Named searches of the records, one person's own."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from audit.models import SavedSearch
from contextos.core.errors import coded_error
from contextos.core.text import single_line
from contextos.identity.models import User

MOST = 20
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Shown:
    """A search as the page lists it."""

    pk: int
    name: str
    query: str
    chosen: bool


def searches_of(user: User, tenant_id: str, *, here: str) -> list[Shown]:
    """The person's searches in this tenant."""
    rows = SavedSearch.objects.filter(tenant_id=tenant_id, user=user)[:MOST]
    return [
        Shown(row.pk, single_line(row.name), f"?{row.query}", row.query == here) for row in rows
    ]


def keep_search(*, user: User, tenant_id: str, name: str, query: str) -> SavedSearch:
    """Keep an address under a name; the same name again replaces it."""
    title = " ".join(name.split())[:LONGEST_NAME]
    if not title:
        raise coded_error("records.search_unnamed")
    mine = SavedSearch.objects.filter(tenant_id=tenant_id, user=user)
    if len(mine.exclude(name=title)[:MOST]) >= MOST:
        raise coded_error("records.searches_full", message=f"{MOST} searches are enough.")
    kept, _ = SavedSearch.objects.update_or_create(
        tenant_id=tenant_id, user=user, name=title, defaults={"query": query[:2000]}
    )
    return kept


def forget_search(*, user: User, tenant_id: str, pk: str) -> None:
    """Forget one's own; another's is as good as absent."""
    mine = SavedSearch.objects.filter(tenant_id=tenant_id, user=user)
    mine.filter(pk=int(pk) if pk.isdecimal() and len(pk) < 10 else 0).delete()


def cleaned_query(text: str) -> QueryDict:
    """An address as typed, without what belongs to one moment only."""
    query = QueryDict(text[:2000], mutable=True)
    query.pop("after", None)
    for name in list(query):
        if not query[name]:
            del query[name]
    return query
