"""Reports that come by themselves: what they are about, when they are due, whom they are for."""

from __future__ import annotations

from django.db import models

from audit.export.states import ExportFormat
from audit.models.exports import ExportJob


class Cadence(models.TextChoices):
    """How often; each report is about the whole day, week or month before."""

    NONE = "", "Only when asked for"
    DAILY = "daily", "Every day, about the day before"
    WEEKLY = "weekly", "Every Monday, about the week before"
    MONTHLY = "monthly", "Every first of a month, about the month before"


class ReportDefinition(models.Model):
    """A named filter, form and sample, and when it is written."""

    report_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    name = models.CharField(max_length=120)
    format = models.CharField(max_length=8, choices=ExportFormat, default=ExportFormat.PDF)
    filter = models.JSONField(default=dict, help_text="Without a period: that is the cadence's.")
    columns = models.JSONField(default=list)
    sample_size = models.PositiveIntegerField(null=True, blank=True)
    cadence = models.CharField(max_length=8, choices=Cadence, blank=True)
    hour = models.PositiveSmallIntegerField(default=6)
    time_zone = models.CharField(max_length=64, default="UTC")
    readers = models.JSONField(default=list, help_text="user_ids that get the link.")
    owner = models.CharField(max_length=150, help_text="With whose access it is written.")
    owner_name = models.CharField(max_length=150)
    is_active = models.BooleanField(default=True)
    stopped_because = models.CharField(max_length=300, blank=True)
    next_run_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "report"
        ordering = ["name"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(fields=["tenant_id", "name"], name="report_name_once"),
            models.CheckConstraint(
                name="report_format_known", condition=models.Q(format__in=ExportFormat.values)
            ),
            models.CheckConstraint(
                name="report_cadence_known", condition=models.Q(cadence__in=Cadence.values)
            ),
            models.CheckConstraint(name="report_hour_known", condition=models.Q(hour__lte=23)),
        ]
        indexes = [
            models.Index(
                fields=["next_run_at"],
                condition=models.Q(is_active=True, next_run_at__isnull=False),
                name="report_due",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ReportRun(models.Model):
    """One period of one report, written once by however many processes."""

    report = models.ForeignKey(ReportDefinition, on_delete=models.PROTECT, related_name="runs")
    period = models.CharField(max_length=40, help_text="Its first moment; runs by hand say when.")
    export = models.ForeignKey(ExportJob, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["report", "period"], name="report_period_once")
        ]

    def __str__(self) -> str:
        return f"{self.report_id} {self.period}"


class ReportNotice(models.Model):
    """A link to one reader, sent when the export has ended; never the file, never a value."""

    run = models.ForeignKey(ReportRun, on_delete=models.CASCADE, related_name="notices")
    user_id = models.CharField(max_length=150)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=200, blank=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["run", "user_id"], name="report_notice_once")
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=models.Q(sent_at__isnull=True, failed_at__isnull=True),
                name="report_notice_due",
            )
        ]

    def __str__(self) -> str:
        return f"{self.run_id} to {self.user_id}"
