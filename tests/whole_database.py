"""Everything the database holds, encrypted columns opened: for tests that look for what is gone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.apps import apps
from django.db import connection

from audit.models import Payload
from audit.payloads import unsealed
from contextos.identity.field_encryption import decrypt_field
from contextos.identity.resealing import sealed_columns


def whole_database() -> str:
    """Every table, every column, as text."""
    return "\n".join([*_columns(), *_opened_payloads(), *_opened_columns()])


def says(text: str, word: str) -> bool:
    """Whether a word stands there by itself, not by chance within an id or a hash."""
    return re.search(rf"(?<![0-9a-z]){re.escape(word)}(?![0-9a-z])", text) is not None


def _columns() -> Iterator[str]:
    tables = connection.introspection.django_table_names(only_existing=True)
    with connection.cursor() as cursor:
        for table in sorted(tables):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    yield f"{table}: {_text(value)}"


def _text(value: object) -> str:
    if isinstance(value, memoryview | bytes):
        return bytes(value).decode("utf-8", errors="replace")
    return str(value)


def _opened_payloads() -> Iterator[str]:
    for row in Payload.objects.filter(sealed__isnull=False):
        yield f"payload {row.kind}: {unsealed(row).content.decode()}"


def _opened_columns() -> Iterator[str]:
    for column in sealed_columns():
        assert apps.is_installed(column.model._meta.app_config.name)
        rows = column.model._default_manager.exclude(**{f"{column.column}__isnull": True})
        for row in rows:
            sealed = bytes(getattr(row, column.column))
            if sealed and column.model is not Payload:
                opened = decrypt_field(sealed, context=column.context(row))
                yield f"{column.label}: {_text(opened)}"
