"""The lifecycle of the registry's versions: what changes the active ones lines up first."""

from __future__ import annotations

from typing import TypeVar

from contextos.review.lifecycle import ReviewedLifecycle
from contextos.review.models import ReviewedVersion
from registry.services.generation import bump_generation

V = TypeVar("V", bound=ReviewedVersion)


class RegistryLifecycle(ReviewedLifecycle[V]):
    """As everywhere; a new generation tells every process that something else is active."""

    def line_up(self, version_id: str) -> None:
        """Everything that changes what is active takes the tenant's number first, then the rows.

        In any other order a publication (which deprecates its predecessor) and that predecessor's
        retirement would wait for each other for ever.
        """
        rows = self.kind.version_model._default_manager.filter(pk=version_id)
        for tenant_id in rows.values_list("tenant_id", flat=True):
            bump_generation(tenant_id)
