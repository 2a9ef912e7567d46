"""Celery's side: thin tasks that carry an id and call a service."""

from celery import shared_task

from contextos.core.clock import utcnow
from contextos.one_at_a_time import one_at_a_time
from gateway.alert_delivery import plan_alerts
from gateway.alert_delivery import send_alerts as send_due_alerts
from gateway.alerts import find_sealing_faults, find_unknown_outcomes
from gateway.callbacks import send_callbacks as send_due_callbacks
from gateway.figures.rollup import forget_fine_spans, roll_up
from gateway.idempotency import forget_expired_keys
from gateway.replaying.jobs import work_on_jobs
from gateway.siem.delivery import send_streams as send_due_streams
from gateway.sweep import sweep_calls
from gateway.worker import work_on

SWEEP_REST_SECONDS = 0.5  # half of beat's pause: what is asked for in time is done


@shared_task(name="gateway.tasks.work_on_call")
def work_on_call(tool_call_id: str) -> None:
    """Take one call a step further."""
    work_on(tool_call_id)


@shared_task(name="gateway.tasks.sweep")
def sweep() -> None:
    """Find what nobody works on."""
    with one_at_a_time("sweep", rest_seconds=SWEEP_REST_SECONDS) as alone:
        if alone:
            sweep_calls()


@shared_task(name="gateway.tasks.count_figures")
def count_figures() -> None:
    """Count what the log has gained."""
    with one_at_a_time("figures") as alone:
        if alone:
            roll_up()


@shared_task(name="gateway.tasks.forget_fine_figures")
def forget_fine_figures() -> None:
    """Drop the counts of short spans past their time."""
    forget_fine_spans(utcnow())


@shared_task(name="gateway.tasks.forget_keys")
def forget_keys() -> None:
    """Drop idempotency keys past their window."""
    forget_expired_keys(utcnow())


@shared_task(name="gateway.tasks.send_alerts")
def send_alerts() -> None:
    """Find what operators are to be told of, and tell them."""
    find_unknown_outcomes()
    find_sealing_faults()
    plan_alerts()
    send_due_alerts()


@shared_task(name="gateway.tasks.send_streams")
def send_streams() -> None:
    """Take what the log has gained to the SIEMs."""
    send_due_streams()


@shared_task(name="gateway.tasks.send_callbacks")
def send_callbacks() -> None:
    """Tell agents of calls that had to wait and have ended."""
    send_due_callbacks()


@shared_task(name="gateway.tasks.replay_periods")
def replay_periods() -> None:
    """Go on with the replays of periods that people asked for."""
    work_on_jobs()
