"""Requests, the votes on them, and what people asked and said about them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from approvals.states import REQUESTS, RequestState
from contextos.identity.models import Tenant

# Something happened that nobody has been told of yet.
UNTOLD = (
    ~models.Q(told_state=models.F("state"))
    | models.Q(told_stage__lt=models.F("stage"))
    | models.Q(told_escalation__lt=models.F("escalation"))
    | models.Q(told_reminders__lt=models.F("reminders"))
)


class ApprovalRequest(models.Model):
    """One subject waiting for people, known only by kind, id and the digest of what will run."""

    approval_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    gate_id = models.CharField(max_length=200)
    gate_version = models.CharField(max_length=64)
    gate_version_id = models.CharField(max_length=40)
    subject_kind = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=64)
    digest = models.CharField(max_length=71)
    state = models.CharField(max_length=16, choices=RequestState, default=RequestState.PENDING)
    terms = models.JSONField(help_text="Stages, deny threshold, factor and times, as of opening.")
    view = models.JSONField(help_text="What the gateway froze: summary, labels, policy, chain.")
    excluded = models.JSONField(help_text="user_id of everybody who may not decide this.")
    payload_id = models.CharField(max_length=40, help_text="The arguments, in the payload store.")
    policy_decision_id = models.CharField(max_length=40, blank=True)
    effective_mode = models.CharField(max_length=16)
    risk = models.PositiveSmallIntegerField(help_text="By rule; the queue shows higher first.")
    capability_id = models.CharField(max_length=200)
    agent_id = models.CharField(max_length=150)
    user_id = models.CharField(max_length=150, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=2, null=True)
    unit = models.CharField(max_length=16, blank=True)
    likeness = models.CharField(max_length=71, help_text="Equal for equal asks; keyed.")
    checked_mark = models.CharField(
        max_length=120, blank=True, help_text="State of registry and gate when last compared."
    )
    stage = models.PositiveSmallIntegerField(default=0, help_text="The stage that votes now.")
    escalation = models.PositiveSmallIntegerField(default=0)
    reminders = models.PositiveSmallIntegerField(default=0)
    question_open = models.BooleanField(default=False)
    question_since = models.DateTimeField(null=True)
    paused_ms = models.PositiveBigIntegerField(default=0, help_text="Clock stopped by questions.")
    void_reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    escalates_at = models.DateTimeField(null=True)
    reminds_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True, help_text="When its subject was told.")
    # What people have been told of so far; approvals.notify moves these after the columns above.
    told_state = models.CharField(max_length=16, blank=True, default="")
    told_stage = models.PositiveSmallIntegerField(default=0)
    told_escalation = models.PositiveSmallIntegerField(default=0)
    told_reminders = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["-approval_id"]
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                name="approval_state_known",
                condition=models.Q(state__in=REQUESTS.check_constraint_values()),
            ),
            models.UniqueConstraint(
                fields=["subject_kind", "subject_id"], name="one_approval_per_subject"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "gate_id", "-risk", "created_at"],
                condition=models.Q(state="pending"),
                name="approval_queue",
            ),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(state__in=["pending", "approved"]),
                name="approval_expiry",
            ),
            models.Index(
                fields=["tenant", "agent_id"],
                condition=models.Q(state="pending"),
                name="approval_by_agent",
            ),
            models.Index(
                fields=["decided_at"],
                condition=models.Q(closed_at__isnull=True),
                name="approval_unclosed",
            ),
            models.Index(
                fields=["tenant", "capability_id", "-decided_at"], name="approval_similar"
            ),
            models.Index(fields=["created_at"], condition=UNTOLD, name="approval_untold"),
        ]

    def __str__(self) -> str:
        return self.approval_id


class Vote(models.Model):
    """One person's word on one request; withdrawn ones stay, marked."""

    vote_id = models.CharField(primary_key=True, max_length=40)
    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="votes")
    approver = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", null=True
    )
    verdict = models.CharField(max_length=8, choices=[("approve", "Approve"), ("reject", "Reject")])
    stage = models.PositiveSmallIntegerField()
    reason = models.TextField(blank=True)
    factor = models.CharField(max_length=16, blank=True)
    digest = models.CharField(max_length=71)
    seconds_seen = models.FloatField(null=True, help_text="From opening the page to the vote.")
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at", "vote_id"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(
                fields=["request", "approver"],
                condition=models.Q(withdrawn_at__isnull=True),
                name="one_vote_each",
            ),
            # Nor does somebody vote for themselves and have a stand-in vote again.
            models.UniqueConstraint(
                fields=["request", "on_behalf_of"],
                condition=models.Q(withdrawn_at__isnull=True, on_behalf_of__isnull=False),
                name="one_vote_for_each",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.approver}"


class Remark(models.Model):
    """A comment, a question that stops the clock, or its answer; never changes the digest."""

    request = models.ForeignKey(ApprovalRequest, on_delete=models.PROTECT, related_name="remarks")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(
        max_length=10,
        choices=[("comment", "Comment"), ("question", "Question"), ("answer", "Answer")],
    )
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"{self.kind} by {self.author}"
