"""A number per tenant that grows with every change that the next call must see."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant


class RegistryGeneration(models.Model):
    """Callers compare it with the number their caches were filled at."""

    tenant = models.OneToOneField(Tenant, on_delete=models.PROTECT, primary_key=True)
    number = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.number}"
