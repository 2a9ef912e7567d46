"""Telling every process that the registry changed."""

from __future__ import annotations

import time

from django.db.models import F, Value
from django.db.models.functions import Greatest

from registry.models import RegistryGeneration


def bump_generation(tenant_id: str) -> None:
    """Raise the tenant's number inside the caller's transaction; also orders racing changes.

    Call it before locking any version: its row is the first lock that every activation takes, so
    that no two of them wait for each other. Numbers follow the clock: after a backup was restored,
    none comes twice, and no cache takes the old world for the new one.
    """
    now = time.time_ns() // 1000
    RegistryGeneration.objects.get_or_create(tenant_id=tenant_id)
    RegistryGeneration.objects.filter(tenant_id=tenant_id).update(
        number=Greatest(F("number") + 1, Value(now))
    )
