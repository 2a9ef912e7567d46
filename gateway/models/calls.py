"""Calls are rows with a lease; a key belongs to the caller who brought it first."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from gateway.models.runs import Run
from gateway.states import CALLS, CallState


class ToolCall(models.Model):
    """One governed call: the job itself. Celery carries nothing but its id."""

    tool_call_id = models.CharField(primary_key=True, max_length=40)
    # Two indexes below begin with these; each further one is paid for twice by every call.
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls", db_index=False)
    decision_id = models.CharField(max_length=40, unique=True)
    capability_id = models.CharField(max_length=200)
    adapter_id = models.CharField(max_length=100)
    adapter_version = models.CharField(max_length=64)
    version_id = models.CharField(max_length=40)
    agent_id = models.CharField(max_length=150)
    user_id = models.CharField(max_length=150, blank=True)
    mode_effective = models.CharField(max_length=16)
    is_write = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=CallState)
    args_digest = models.CharField(max_length=71, help_text="Keyed, for the loop guard only.")
    args_payload = models.CharField(max_length=40)
    envelope = models.TextField(help_text="The call envelope without its arguments.")
    result = models.TextField(blank=True, help_text="The result envelope without its output.")
    output_payload = models.CharField(max_length=40, blank=True)
    records = models.PositiveIntegerField(default=0, help_text="Rows its decision has so far.")
    attempts = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0, help_text="Leases that ran out.")
    polls = models.PositiveIntegerField(default=0)
    reserved_cents = models.BigIntegerField(default=0)
    worker = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True, help_text="Not before: a retry or the next poll.")
    deadline_at = models.DateTimeField(null=True, help_text="When the running attempt ends.")
    ends_at = models.DateTimeField(null=True, help_text="When long-running work is given up.")
    task = models.JSONField(null=True, help_text="Our task id and the upstream's handle.")
    input_request = models.JSONField(null=True)
    answer_payload = models.CharField(max_length=40, blank=True)
    error_code = models.CharField(max_length=100, blank=True)
    cancel_reason = models.CharField(max_length=500, blank=True, help_text="Cancel was asked for.")
    dead_letter = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-tool_call_id"]
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                name="call_state_known",
                condition=models.Q(state__in=CALLS.check_constraint_values()),
            ),
            models.CheckConstraint(
                name="call_finished_when_terminal",
                condition=~models.Q(state__in=sorted(CALLS.terminal))
                | models.Q(finished_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "-tool_call_id"], name="call_by_tenant"),
            models.Index(fields=["run", "capability_id", "args_digest"], name="call_loop_guard"),
            models.Index(
                fields=["due_at"],
                condition=models.Q(state__in=["queued", "working"]),
                name="call_due",
            ),
            models.Index(
                fields=["run", "-finished_at"],
                condition=models.Q(state="failed"),
                name="call_failures",
            ),
            models.Index(
                fields=["tenant", "-tool_call_id"],
                condition=models.Q(dead_letter=True),
                name="call_dead_letters",
            ),
            models.Index(
                fields=["tenant", "created_at"],
                condition=models.Q(state="unknown_outcome"),
                name="call_unknown",
            ),
            models.Index(
                fields=["lease_until"],
                condition=models.Q(lease_until__isnull=False),
                name="call_leases",
            ),
        ]

    def __str__(self) -> str:
        return self.tool_call_id


class IdempotencyKey(models.Model):
    """A key in its scope. The fingerprint is keyed by a salt of its own, which can be erased."""

    scope_hash = models.CharField(
        primary_key=True,
        max_length=71,
        help_text="sha256 over tenant, agent, user, capability and key.",
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    tool_call_id = models.CharField(max_length=40)
    salt = models.BinaryField(max_length=32)
    fingerprint = models.CharField(max_length=71)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.scope_hash


class RefusalWindow(models.Model):
    """Identical refusals within one minute: the first has a record, the others are counted."""

    window_hash = models.CharField(
        primary_key=True,
        max_length=71,
        help_text="sha256 over tenant, agent, user, capability, code and minute.",
    )
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    decision_id = models.CharField(max_length=40, help_text="The first refusal's decision.")
    repeats = models.PositiveIntegerField(default=0)
    closes_at = models.DateTimeField(db_index=True)
    closed = models.BooleanField(default=False)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.window_hash
