"""Celery's side of the log: thin tasks that call a service."""

from celery import shared_task

from audit.erasure import carry_out_waiting
from audit.export.report_mail import send_report_links
from audit.export.reports import run_due_reports
from audit.export.runner import run_due_exports
from audit.export.services import remove_expired
from audit.log_checks import run_due_checks
from audit.outside.remote import send_checkpoints as send_to_others
from audit.partitions import ensure_partitions
from audit.purging import ACTOR
from audit.purging import apply_retention as apply_due_retention
from contextos.one_at_a_time import one_at_a_time


@shared_task(name="audit.tasks.send_checkpoints")
def send_checkpoints() -> None:
    """The newest checkpoints to whoever keeps them outside."""
    with one_at_a_time("checkpoints") as alone:
        if alone:
            send_to_others()


@shared_task(name="audit.tasks.prepare_partitions")
def prepare_partitions() -> None:
    """The months ahead, so that no row lands in the safety net."""
    ensure_partitions()


@shared_task(name="audit.tasks.apply_retention")
def apply_retention() -> None:
    """Erase values and purge records whose time is over."""
    apply_due_retention()


@shared_task(name="audit.tasks.finish_erasures")
def finish_erasures() -> None:
    """Carry out what waited for a call to end or a hold to be released."""
    carry_out_waiting(actor=ACTOR)


@shared_task(name="audit.tasks.run_exports")
def run_exports() -> None:
    """Write the exports that wait; their leases keep any number of workers apart."""
    run_due_exports()


@shared_task(name="audit.tasks.run_log_checks")
def run_log_checks() -> None:
    """Read the logs that somebody asked to have read."""
    run_due_checks()


@shared_task(name="audit.tasks.remove_exports")
def remove_exports() -> None:
    """Drop the files whose day has passed."""
    remove_expired()


@shared_task(name="audit.tasks.run_reports")
def run_reports() -> None:
    """Have the reports written that are due, and tell readers of those that are there."""
    run_due_reports()
    send_report_links()
