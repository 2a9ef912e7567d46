"""Alerts: what happened, who wants to hear of it, and whether they were told."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class AlertKind(models.TextChoices):
    """What operators are told of."""

    BREAKER_OPEN = "breaker_open", "A breaker opened"
    UNKNOWN_OUTCOME = "unknown_outcome", "A call ended with an unknown outcome"
    POLICY_ERROR = "policy_error", "A policy could not be evaluated"
    SEALING_LATE = "sealing_late", "Records wait for the sealer"
    OUTSIDE_FAILING = "outside_failing", "Checkpoints are not kept outside"


class Alert(models.Model):
    """One thing that happened; the unique mark makes it one however many processes saw it."""

    alert_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    mark = models.CharField(max_length=200, help_text="kind:subject:when, for telling it once.")
    kind = models.CharField(max_length=20, choices=AlertKind)
    subject = models.CharField(max_length=200, help_text="The adapter, call or capability.")
    facts = models.JSONField(default=dict, help_text="Codes, ids and times; never values.")
    happened_at = models.DateTimeField()
    planned_at = models.DateTimeField(null=True, help_text="When its messages were written.")

    class Meta:
        ordering = ["-alert_id"]
        default_permissions = ("view",)
        constraints = [models.UniqueConstraint(fields=["tenant", "mark"], name="alert_once")]
        indexes = [
            models.Index(fields=["tenant", "-alert_id"], name="alert_by_tenant"),
            models.Index(
                fields=["happened_at"],
                condition=models.Q(planned_at__isnull=True),
                name="alert_unplanned",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject}"


class AlertReceiver(models.Model):
    """Where a tenant wants to be told: an e-mail address, or a signed webhook."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=100)
    channel = models.CharField(
        max_length=8, choices=[("email", "E-mail"), ("webhook", "Signed webhook")]
    )
    address = models.CharField(max_length=500)
    sealed_secret = models.BinaryField(null=True, help_text="Signs what is sent; write-only.")
    kinds = models.JSONField(default=list, help_text="Kinds of alerts; empty means all.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="alert_receiver_once")
        ]

    def __str__(self) -> str:
        return self.name


class AlertNotice(models.Model):
    """One message about one alert to one receiver."""

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="notices")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    receiver = models.ForeignKey(AlertReceiver, on_delete=models.PROTECT, related_name="+")
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-due_at", "pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["alert", "receiver"], name="alert_notice_once")
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(sent_at__isnull=True, failed_at__isnull=True),
                name="alert_notice_due",
            )
        ]

    def __str__(self) -> str:
        return f"{self.alert_id} to {self.receiver_id}"
