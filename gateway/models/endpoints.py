"""Where a named endpoint of a manifest stands, per tenant and environment."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from contextos.identity.models import Tenant

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,99}$"


class Endpoint(models.Model):
    """The address behind `endpoint://name`: a manifest is signed once, its address may move."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=40)
    name = models.CharField(
        max_length=100,
        validators=[RegexValidator(NAME_PATTERN)],
        help_text="The part after endpoint:// in the manifest's endpoint_ref.",
    )
    url = models.CharField("address", max_length=500)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "environment"]
        default_permissions = ("add", "change", "delete", "view")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "environment", "name"], name="endpoint_once")
        ]

    def __str__(self) -> str:
        return f"endpoint://{self.name}"
