"""Streams to a SIEM: where a tenant's log is sent, how far it has come, who sends it now (E7)."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class StreamFormat(models.TextChoices):
    """How a record is written."""

    JSONL = "jsonl", "JSON, one object a line"
    CEF = "cef", "CEF (ArcSight Common Event Format)"


class StreamTransport(models.TextChoices):
    """How it travels."""

    WEBHOOK = "webhook", "Webhook (https)"
    SYSLOG_TLS = "syslog_tls", "Syslog over TLS (RFC 5425)"
    SYSLOG_TCP = "syslog_tcp", "Syslog over TCP, in the clear"
    SYSLOG_UDP = "syslog_udp", "Syslog over UDP, may lose records"


class StreamContents(models.TextChoices):
    """Which rows of the log."""

    ALL = "all", "Decisions and events"
    DECISIONS = "decisions", "Decisions only"
    EVENTS = "events", "Events only"


class SiemStream(models.Model):
    """One stream. `next_index` is the first leaf of the tenant's log that was not taken yet."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=100)
    transport = models.CharField(max_length=12, choices=StreamTransport)
    address = models.CharField(max_length=500)
    format = models.CharField(max_length=8, choices=StreamFormat)
    contents = models.CharField(
        max_length=10, choices=StreamContents, default=StreamContents.ALL, verbose_name="sends"
    )
    sealed_secret = models.BinaryField(null=True, help_text="Signs what is posted; write-only.")
    sealed_authorization = models.BinaryField(
        null=True, help_text="The Authorization header; write-only."
    )
    authority = models.TextField(
        blank=True, help_text="PEM of the authority that signed the receiver's certificate."
    )
    is_active = models.BooleanField(default=True)
    next_index = models.PositiveBigIntegerField(default=0)
    sent = models.PositiveBigIntegerField(default=0, help_text="Records taken, repeats included.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    last_error = models.CharField(max_length=300, blank=True)
    last_sent_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField()
    worker = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "SIEM stream"
        ordering = ["name"]
        default_permissions = ("add", "change", "delete", "view")
        constraints = [models.UniqueConstraint(fields=["tenant", "name"], name="siem_stream_once")]
        indexes = [
            models.Index(
                fields=["due_at"], condition=models.Q(is_active=True), name="siem_stream_due"
            )
        ]

    def __str__(self) -> str:
        return self.name
