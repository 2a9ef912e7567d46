"""Celery's side: thin tasks that call a service."""

from celery import shared_task

from approvals.delivery import send_waiting
from approvals.models import Notice
from approvals.notify import plan_notices
from approvals.outbox import forget_ended


@shared_task(name="approvals.tasks.send_notices")
def send_notices() -> None:
    """Write down whom to tell of what happened, then tell them."""
    plan_notices()
    send_waiting()


@shared_task(name="approvals.tasks.forget_notices")
def forget_notices() -> None:
    """Drop notices that nobody asks about any more."""
    while forget_ended(Notice.objects.all()):
        pass
