"""What the explorers share: a long list that is only read, and a page of its own for each row."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.paginator import BoundedPaginator


class ExplorerAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """A hundred thousand rows stay quick: an index in list order, no count of all rows."""

    class Media:
        css = {"all": ["contextos/gateway.css"]}

    paginator = BoundedPaginator

    def page(self, request: HttpRequest, row: Any) -> HttpResponse:
        """The page of one row: Django's own, where an explorer has none of its own."""
        return super().change_view(request, str(row.pk))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """For whoever may read the row."""
        return self.page(request, self.readable(request, object_id))

    def readable(self, request: HttpRequest, object_id: str) -> Any:
        """The row, if there is one that the person may read."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        return row
