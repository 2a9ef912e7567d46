"""An auditor's access: for how long, to which period, how confidential."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from audit.clearance import Clearance
from contextos.identity.models import Tenant

CLEARANCES = [(level.value, level.value.capitalize()) for level in Clearance]


class AuditorAccess(models.Model):
    """One auditor in one tenant: when they may look, what period they see, how far they may read.

    Granting another one ends the one before; rows stay, so that what was granted can be read.
    """

    access_id = models.CharField(primary_key=True, max_length=40)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name="auditor",
    )
    starts_at = models.DateTimeField("access begins")
    ends_at = models.DateTimeField("access ends")
    data_from = models.DateTimeField(
        "records from", null=True, blank=True, help_text="Older records are not shown."
    )
    data_until = models.DateTimeField(
        "records until", null=True, blank=True, help_text="Records from then on are not shown."
    )
    clearance = models.CharField(
        max_length=16,
        choices=CLEARANCES,
        default=Clearance.INTERNAL.value,
        help_text="Values classed higher are masked. Arguments and outputs are confidential.",
    )
    granted_by = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Taken back or replaced.")
    ended_by = models.CharField(max_length=150, blank=True)

    class Meta:
        verbose_name = "auditor's access"
        verbose_name_plural = "auditors' access"
        ordering = ["-access_id"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "tenant"],
                condition=Q(ended_at__isnull=True),
                name="one_open_auditor_access",
            ),
            models.CheckConstraint(
                name="auditor_access_ends_after_it_begins", condition=Q(ends_at__gt=F("starts_at"))
            ),
            models.CheckConstraint(
                name="auditor_data_ends_after_it_begins",
                condition=Q(data_from__isnull=True)
                | Q(data_until__isnull=True)
                | Q(data_until__gt=F("data_from")),
            ),
            models.CheckConstraint(
                name="auditor_clearance_known",
                condition=Q(clearance__in=[level.value for level in Clearance]),
            ),
        ]
        indexes = [models.Index(fields=["tenant", "-access_id"], name="auditor_access_by_tenant")]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant_id} until {self.ends_at:%Y-%m-%d}"
