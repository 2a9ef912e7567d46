"""Searches of the records that a person gave a name."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from contextos.identity.models import Tenant


class SavedSearch(models.Model):
    """Filters and columns under a name; one person's own, in one tenant."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000, help_text="As in the address; checked when used.")

    class Meta:
        ordering = ["name"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user", "name"], name="saved_search_once")
        ]

    def __str__(self) -> str:
        return self.name
