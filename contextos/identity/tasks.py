"""Periodic work of identity."""

from __future__ import annotations

from celery import shared_task
from django.core.management import call_command


@shared_task
def clear_expired() -> None:
    """Drop sessions that have expired."""
    call_command("clearsessions")
