"""Celery's side: thin tasks that carry an id and call a service."""

from celery import shared_task

from contextos.core.clock import utcnow
from contextos.one_at_a_time import one_at_a_time
from gateway.callbacks import send_callbacks as send_due_callbacks
from gateway.idempotency import forget_expired_keys
from gateway.sweep import sweep_calls
from gateway.worker import work_on


@shared_task(name="gateway.tasks.work_on_call")
def work_on_call(tool_call_id: str) -> None:
    """Take one call a step further."""
    work_on(tool_call_id)


@shared_task(name="gateway.tasks.sweep")
def sweep() -> None:
    """Find what nobody works on."""
    with one_at_a_time("sweep") as alone:
        if alone:
            sweep_calls()


@shared_task(name="gateway.tasks.forget_keys")
def forget_keys() -> None:
    """Drop idempotency keys past their window."""
    forget_expired_keys(utcnow())


@shared_task(name="gateway.tasks.send_callbacks")
def send_callbacks() -> None:
    """Tell agents of calls that had to wait and have ended."""
    send_due_callbacks()
