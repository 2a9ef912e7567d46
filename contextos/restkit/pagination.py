"""Keyset pages: `{results, next}` with a signed cursor; never counts, stable while rows arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core import signing
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
from django.db.models import Field, Model, Q, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from contextos.core.errors import ContextOSError, coded_error
from contextos.restkit import error_codes  # noqa: F401 - declares cursor.invalid

_SALT = "contextos.restkit.cursor"
_CURSOR_LIMIT = 2048


class KeysetPagination(BasePagination):
    """Pages through `view.keyset_ordering`, whose last field is unique; else newest id first."""

    default_ordering: Sequence[str] = ("-pk",)
    max_limit = 200
    limit_param = "limit"
    cursor_param = "cursor"

    _next: str | None = None

    def paginate_queryset(
        self,
        queryset: QuerySet[Any] | Sequence[Any],
        request: Request,
        view: APIView | None = None,
    ) -> list[Any]:
        """One page; asks for one row more to learn whether another page follows."""
        if not isinstance(queryset, QuerySet):
            raise TypeError("keyset pages are cut by the database: pass a queryset")
        ordering = tuple(getattr(view, "keyset_ordering", None) or self.default_ordering)
        limit = self.limit_of(request)
        cursor = request.query_params.get(self.cursor_param)
        page = queryset.order_by(*_columns(queryset.model, ordering))
        if cursor:
            page = page.filter(_after(queryset.model, ordering, read_cursor(cursor, ordering)))
        rows = list(page[: limit + 1])
        more = len(rows) > limit
        self._next = write_cursor(rows[limit - 1], ordering) if more else None
        return rows[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        """The answer's fixed shape."""
        return Response({"results": data, "next": self._next})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The same shape for OpenAPI."""
        return {
            "type": "object",
            "required": ["results", "next"],
            "properties": {
                "results": schema,
                "next": {
                    "type": ["string", "null"],
                    "description": "Cursor of the next page; null on the last one.",
                },
            },
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """The two query parameters for OpenAPI."""
        limit = {"type": "integer", "minimum": 1}
        return [
            _query_parameter(self.limit_param, limit, f"Rows per page, {self.max_limit} at most."),
            _query_parameter(self.cursor_param, {"type": "string"}, "`next` of the previous page."),
        ]

    def limit_of(self, request: Request) -> int:
        """How many rows were asked for, within bounds."""
        raw = request.query_params.get(self.limit_param)
        if raw is None:
            return int(api_settings.PAGE_SIZE or self.max_limit)
        # Bounded in length first: int() of a very long text is slow or refused.
        if len(raw) > 9 or not (raw.isascii() and raw.isdigit()) or int(raw) == 0:
            raise coded_error(
                "request.invalid", message=f"limit is a whole number from 1 to {self.max_limit}."
            )
        return min(int(raw), self.max_limit)


def _query_parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "schema": schema,
        "description": description,
    }


def _columns(model: type[Model], ordering: tuple[str, ...]) -> list[str]:
    """The ordering by plain columns: a relation's own default ordering must not creep in."""
    return [name[: -len(name.lstrip("-"))] + _field(model, name).attname for name in ordering]


def write_cursor(row: Model, ordering: tuple[str, ...]) -> str:
    """The signed place of a row in its order; lists that find their page otherwise use it too."""
    values = [_field(type(row), name).value_to_string(row) for name in ordering]
    return _signer(ordering).sign_object(values)


def read_cursor(cursor: str, ordering: tuple[str, ...]) -> list[str]:
    """The place that a cursor of ours names, or a coded refusal."""
    if len(cursor) > _CURSOR_LIMIT:
        raise _refused()
    try:
        values = _signer(ordering).unsign_object(cursor)
    except (signing.BadSignature, ValueError) as fault:
        raise _refused() from fault
    if not isinstance(values, list) or len(values) != len(ordering):
        raise _refused()
    return [str(value) for value in values]


def _after(model: type[Model], ordering: tuple[str, ...], values: list[str]) -> Q:
    """Rows behind the cursor: (a > x) or (a = x and b > y) or ..."""
    behind, equal = Q(), Q()
    for name, text in zip(ordering, values, strict=True):
        field = _field(model, name)
        value = _parse(field, text)
        direction = "lt" if name.startswith("-") else "gt"
        behind |= equal & Q(**{f"{field.attname}__{direction}": value})
        equal &= Q(**{field.attname: value})
    return behind


def _field(model: type[Model], name: str) -> Field[Any, Any]:
    plain = name.removeprefix("-")
    try:
        field = model._meta.pk if plain == "pk" else model._meta.get_field(plain)
    except FieldDoesNotExist as fault:
        raise ImproperlyConfigured(f"{model.__name__} has no field {plain} to page by") from fault
    if not isinstance(field, Field) or field.null:
        raise ImproperlyConfigured(f"{model.__name__}.{plain} may be null; page by another field")
    return field


def _parse(field: Field[Any, Any], text: str) -> Any:
    try:
        return field.to_python(text)
    except ValidationError as fault:
        raise _refused() from fault


def _signer(ordering: tuple[str, ...]) -> signing.Signer:
    return signing.Signer(salt=":".join((_SALT, *ordering)))


def _refused() -> ContextOSError:
    return coded_error("cursor.invalid")
