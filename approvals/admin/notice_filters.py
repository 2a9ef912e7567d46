"""The state of a message in a word, and the filter that asks for it."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from approvals.models import Notice
from contextos.adminkit.display import Tone

_SENT = Q(sent_at__isnull=False)
_FAILED = Q(failed_at__isnull=False)
_UNNEEDED = Q(last_error__startswith="Not needed")
_STATES = {
    "waiting": ("waiting", ~_SENT & ~_FAILED),
    "sent": ("sent", _SENT),
    "failed": ("failed", _FAILED & ~_UNNEEDED),
    "unneeded": ("not needed any more", _FAILED & _UNNEEDED),
}


def state_of(notice: Notice) -> tuple[str, Tone]:
    """The word and its colour."""
    if notice.sent_at is not None:
        return "sent", "success"
    if notice.failed_at is None:
        return ("will be tried again", "warning") if notice.attempts else ("waiting", "info")
    unneeded = notice.last_error.startswith("Not needed")
    return ("not needed any more", "neutral") if unneeded else ("failed", "danger")


class StateFilter(SimpleListFilter):
    """Waiting, sent, failed."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The choices."""
        return [(key, word.capitalize()) for key, (word, _) in _STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows in the chosen state."""
        chosen = _STATES.get(self.value() or "")
        return queryset.filter(chosen[1]) if chosen else queryset
