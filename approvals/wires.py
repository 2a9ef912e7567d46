"""The one wire upwards: whoever owns a subject is told that its request was decided."""

from __future__ import annotations

from functools import cache
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.utils.module_loading import import_string


class SubjectWaker(Protocol):
    """Called after the deciding transaction; a sweep finds what it missed."""

    def __call__(self, approval_id: str) -> None:
        """Look at the request and act on its state."""


@cache
def _waker() -> SubjectWaker:
    waker: SubjectWaker = import_string(settings.CONTEXTOS_APPROVAL_WAKER)
    return waker


def wake_subject(approval_id: str) -> None:
    """Tell the subject's owner, once this transaction has been committed.

    Robust: what was decided stands and is answered as decided, also when the waker fails.
    """
    transaction.on_commit(lambda: _waker()(approval_id), robust=True)
