"""Celery's side: thin tasks that call a service."""

from celery import shared_task

from approvals.delivery import send_waiting
from approvals.notify import plan_notices


@shared_task(name="approvals.tasks.send_notices")
def send_notices() -> None:
    """Write down whom to tell of what happened, then tell them."""
    plan_notices()
    send_waiting()
