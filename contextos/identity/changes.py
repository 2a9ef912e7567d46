"""Changing a locked row and saying what changed, in words that fit a record."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db import models

from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.identity.models import User

Row = TypeVar("Row", bound=models.Model)
Changes = dict[str, dict[str, Any]]


def lock(model: type[Row], pk: object) -> Row:
    """The row, locked for this transaction; decide on this object and on no earlier copy."""
    row: Row | None = model._default_manager.select_for_update().filter(pk=pk).first()
    if row is None:
        raise coded_error("request.not_found")
    return row


def apply_changes(row: models.Model, **values: Any) -> Changes:
    """Write the values that differ, after the model's own validation; return old and new."""
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    report = {
        name: {"from": plain(getattr(row, name)), "to": plain(value)}
        for name, value in changed.items()
    }
    for name, value in changed.items():
        setattr(row, name, value)
    if changed:
        row.full_clean()
        row.save(update_fields=list(changed))
    return report


def plain(value: Any) -> Any:
    """A value as a record holds it."""
    if isinstance(value, User):
        return value.user_id
    if isinstance(value, models.Model):
        return str(value.pk)
    return format_time(value) if isinstance(value, datetime) else value


def require_reason(reason: str) -> str:
    """The reason without its margins; none is refused."""
    if not reason.strip():
        raise coded_error("reason.missing")
    return reason.strip()
