"""The states of an approval request, as data."""

from __future__ import annotations

from django.db import models

from contextos.core.states import TransitionTable


class RequestState(models.TextChoices):
    """Where a request stands; only `approved` can still be consumed, and only once."""

    PENDING = "pending", "Waiting"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    EXPIRED = "expired", "Expired"
    CANCELLED = "cancelled", "Cancelled"
    VOIDED = "voided", "Voided"
    CONSUMED = "consumed", "Executed"


REQUESTS = TransitionTable(
    "approval",
    initial=RequestState.PENDING,
    transitions={
        RequestState.PENDING: [
            RequestState.APPROVED,
            RequestState.REJECTED,
            RequestState.EXPIRED,
            RequestState.CANCELLED,
            RequestState.VOIDED,
        ],
        RequestState.APPROVED: [
            RequestState.PENDING,  # a vote was withdrawn before anything ran
            RequestState.CONSUMED,
            RequestState.EXPIRED,
            RequestState.CANCELLED,
            RequestState.VOIDED,
        ],
    },
    terminal=[
        RequestState.REJECTED,
        RequestState.EXPIRED,
        RequestState.CANCELLED,
        RequestState.VOIDED,
        RequestState.CONSUMED,
    ],
)
OPEN = (RequestState.PENDING, RequestState.APPROVED)
