"""Exports: a row is the job, with its lease, how far it came, and the file that came of it."""

from __future__ import annotations

from django.db import models

from audit.export.states import ENDED, OPEN, ExportFormat, ExportState


class ExportJob(models.Model):
    """One export that somebody asked for. No foreign keys: it outlives who asked."""

    export_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    title = models.CharField(max_length=200, blank=True, help_text="Name of the report, if any.")
    report_id = models.CharField(max_length=40, blank=True)
    standing = models.CharField(
        max_length=40, blank=True, help_text="Key of a standing report; empty: records."
    )
    format = models.CharField(max_length=8, choices=ExportFormat)
    filter = models.JSONField(default=dict, help_text="As asked for; the window is part of it.")
    columns = models.JSONField(default=list, help_text="Columns of a table; empty: all of them.")
    sample = models.JSONField(null=True, help_text="Size and seed of a random sample.")
    requested_by_kind = models.CharField(max_length=16)
    requested_by = models.CharField(max_length=150)
    requested_by_name = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    state = models.CharField(max_length=10, choices=ExportState, default=ExportState.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0, help_text="Attempts that broke off.")
    worker = models.CharField(max_length=100, blank=True)
    lease_until = models.DateTimeField(null=True)
    first = models.CharField(max_length=40, blank=True, help_text="First record of the selection.")
    last = models.CharField(max_length=40, blank=True, help_text="Newest record when it began.")
    cursor = models.CharField(max_length=40, blank=True, help_text="Last record written.")
    position = models.BigIntegerField(default=0, help_text="Bytes of the part that are settled.")
    rows = models.BigIntegerField(default=0)
    missing = models.BigIntegerField(default=0, help_text="Records whose text is not there.")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    file_name = models.CharField(max_length=120, blank=True)
    size_bytes = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    expires_at = models.DateTimeField(help_text="When the file is removed.")
    removed_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=100, blank=True)
    error_text = models.CharField(max_length=300, blank=True)

    class Meta:
        verbose_name = "export"
        ordering = ["-export_id"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.CheckConstraint(
                name="export_state_known", condition=models.Q(state__in=ExportState.values)
            ),
            models.CheckConstraint(
                name="export_format_known", condition=models.Q(format__in=ExportFormat.values)
            ),
            models.CheckConstraint(
                name="export_ended_has_its_time",
                condition=models.Q(state__in=OPEN, finished_at__isnull=True)
                | models.Q(state__in=ENDED, finished_at__isnull=False),
            ),
            # No partial file is ever offered: what has a name also has its hash, and is done.
            models.CheckConstraint(
                name="export_done_has_its_file",
                condition=models.Q(state=ExportState.DONE)
                & ~models.Q(file_name="")
                & ~models.Q(sha256="")
                | ~models.Q(state=ExportState.DONE) & models.Q(file_name="", sha256=""),
            ),
            models.CheckConstraint(
                name="export_failed_says_why",
                condition=~models.Q(state=ExportState.FAILED) | ~models.Q(error_code=""),
            ),
        ]
        indexes = [
            models.Index(fields=["tenant_id", "-export_id"], name="export_by_tenant"),
            models.Index(
                fields=["export_id"], condition=models.Q(state__in=OPEN), name="export_open"
            ),
            models.Index(
                fields=["expires_at"],
                condition=models.Q(state=ExportState.DONE, removed_at__isnull=True),
                name="export_with_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.export_id} {self.format} {self.state}"

    @property
    def is_open(self) -> bool:
        """Whether it still goes on."""
        return self.state in OPEN

    @property
    def has_file(self) -> bool:
        """Whether there is something to fetch."""
        return self.state == ExportState.DONE and self.removed_at is None


class ExportReader(models.Model):
    """Somebody an export was made for: who asked, and whom a report is sent to."""

    export = models.ForeignKey(ExportJob, on_delete=models.CASCADE, related_name="readers")
    user_id = models.CharField(max_length=150)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["export", "user_id"], name="export_reader_once")
        ]
        indexes = [models.Index(fields=["user_id"], name="export_reader_by_user")]

    def __str__(self) -> str:
        return f"{self.user_id} reads {self.export_id}"
