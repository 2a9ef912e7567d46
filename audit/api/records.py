"""REST of decision records: the search, and all rows of one decision."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from audit.api import record_documents as documents
from audit.api.reading import ReadingView
from audit.models import DecisionRow
from audit.record_filter import RecordFilter, read_filter
from audit.record_texts import rows_of_decision, with_texts
from audit.search import page_of_records
from audit.tombstones import absence_of
from audit.views_recorded import record_search, record_view
from contextos.core.errors import coded_error
from contextos.restkit.pagination import KeysetPagination, read_cursor, write_cursor

_ORDER = ("-record_id",)
_PAGING = frozenset({KeysetPagination.cursor_param, KeysetPagination.limit_param})
SURFACE = "rest"


class RecordListView(ReadingView, generics.GenericAPIView[Any]):
    """`decision-records`."""

    queryset = DecisionRow.objects.none()
    serializer_class = documents.RecordSerializer
    pagination_class = KeysetPagination

    @extend_schema(
        operation_id="decision_records_list",
        tags=["decision-records"],
        parameters=documents.FILTERS,
        responses=documents.RecordSerializer(many=True),
        examples=[documents.ROW],
    )
    def get(self, request: Request) -> Response:
        """Rows of decision records, newest first; filters combine, and nothing is counted.

        One decision has several rows (proposed, approved, executed ...): `ended=1` answers one row
        for each decision that has ended.
        """
        wanted, window = self._wanted(), self.window
        cursor = request.query_params.get(KeysetPagination.cursor_param)
        page = page_of_records(
            wanted,
            window=window,
            after=read_cursor(cursor, _ORDER)[0] if cursor else None,
            limit=KeysetPagination().limit_of(request),
        )
        record_search(window=window, actor=self.actor, wanted=wanted, surface=SURFACE)
        following = write_cursor(page.heads[-1], _ORDER) if page.next_after else None
        results = [documents.row_document(row) for row in with_texts(page.heads)]
        return Response({"results": results, "next": following})

    def _wanted(self) -> RecordFilter:
        asked = self.request.query_params
        for name in asked:
            if len(asked.getlist(name)) > 1:
                raise coded_error(
                    "records.filter_invalid",
                    message=f"{name[:50]} is given twice.",
                    data={"parameter": name[:50]},
                )
        return read_filter({name: asked[name] for name in asked if name not in _PAGING})


class RecordView(ReadingView):
    """`decision-records/{id}`."""

    @extend_schema(
        operation_id="decision_records_read",
        tags=["decision-records"],
        responses=documents.DecisionSerializer,
        examples=[documents.DECISION],
    )
    def get(self, request: Request, decision_id: str) -> Response:
        """Every row of one decision, first to last, as stored, with its place in the log."""
        window = self.window
        rows = rows_of_decision(tenant_id=window.tenant_id, decision_id=decision_id[:40])
        if not rows:
            raise absence_of(tenant_id=window.tenant_id, decision_id=decision_id[:40])
        window.require(*(row.head.created_at for row in rows))
        record_view(window=window, actor=self.actor, decision_id=decision_id, surface=SURFACE)
        return Response(documents.decision_document(rows))
