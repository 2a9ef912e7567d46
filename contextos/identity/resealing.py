"""Encrypts stored secrets again under the first field key, so that an old key can be taken away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import BinaryField, Model, QuerySet
from django.db.models.functions import Substr

from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.identity.contributions import contributed_modules
from contextos.identity.events import record_event
from contextos.identity.field_encryption import (
    current_head,
    decrypt_field,
    encrypt_field,
    needs_rotation,
)

Progress = Callable[[str, int], None]  # the column, and how many of its rows so far
_AT_ONCE = 500


def _unwatched(label: str, done: int) -> None:
    """Nobody waits."""


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """One encrypted column; `context` names the place of a row's ciphertext, as when it was made.

    `also` gives columns that depend on the content and on the key, such as a fingerprint.
    """

    model: type[Model]
    column: str
    context: Callable[[Any], str]
    also: Callable[[Any, bytes], dict[str, Any]] = lambda row, plain: {}

    @property
    def label(self) -> str:
        """How it is named in the record."""
        return f"{self.model._meta.label}.{self.column}"


def reseal_all(actor: Actor, progress: Progress = _unwatched) -> dict[str, int]:
    """Every column that an app declares in its `sealed.py`; how many rows each.

    Safe to repeat, and to break off: what is done already is not read again.
    """
    done = {column.label: _reseal(column, progress) for column in sealed_columns()}
    with transaction.atomic():
        record_event(
            tenant_id=PLATFORM_TENANT,
            action="identity.fields.resealed",
            actor=actor,
            subject_kind="key",
            subject_id="fields",
            data=done,
        )
    return done


def sealed_columns() -> Iterator[SealedColumn]:
    """What the installed apps keep encrypted and may be encrypted again."""
    for module in contributed_modules("sealed"):
        yield from module.SEALED


def _reseal(column: SealedColumn, progress: Progress) -> int:
    """In batches by primary key, each row by itself: nothing is locked while a million are done."""
    done, last = 0, None
    waiting = _under_other_keys(column)
    while rows := list((waiting.filter(pk__gt=last) if last else waiting)[:_AT_ONCE]):
        done += sum(_resealed(column, row) for row in rows)
        last = rows[-1].pk
        progress(column.label, done)
    return done


def _under_other_keys(column: SealedColumn) -> QuerySet[Any]:
    """The database looks at the first bytes: rows under the first key are not fetched at all."""
    current = current_head()
    rows = column.model._default_manager.exclude(**{f"{column.column}__isnull": True})
    head = Substr(column.column, 1, len(current), output_field=BinaryField())
    waiting: QuerySet[Any] = rows.alias(head=head).exclude(head=current).order_by("pk")
    return waiting


def _resealed(column: SealedColumn, row: Any) -> bool:
    """A row that changed meanwhile was sealed anew by whoever changed it."""
    sealed = bytes(getattr(row, column.column))
    if not sealed or not needs_rotation(sealed):
        return False
    context = column.context(row)
    plain = decrypt_field(sealed, context=context)
    values = {column.column: encrypt_field(plain, context=context), **column.also(row, plain)}
    unchanged = column.model._default_manager.filter(pk=row.pk, **{column.column: sealed})
    return bool(unchanged.update(**values))
