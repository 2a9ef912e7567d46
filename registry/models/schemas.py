"""JSON Schemas by content, and the `schema://` names that versions give them."""

from __future__ import annotations

from django.db import models

from contextos.identity.models import Tenant
from registry.models.adapters import AdapterVersion


class SchemaDocument(models.Model):
    """One schema document, stored once per tenant under its digest and never changed."""

    append_only = True  # triggers in the migration (audit.append_only)

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=71)
    dialect = models.CharField(max_length=200)
    text = models.TextField(help_text="Canonical JSON.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["digest"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "digest"], name="schema_once_per_tenant")
        ]

    def __str__(self) -> str:
        return self.digest


class SchemaUse(models.Model):
    """A version calls this document by this `schema://` name."""

    mutable_once_submitted = ()

    version = models.ForeignKey(AdapterVersion, on_delete=models.CASCADE, related_name="schemas")
    ref = models.CharField(max_length=300)
    document = models.ForeignKey(SchemaDocument, on_delete=models.PROTECT, related_name="uses")

    class Meta:
        ordering = ["ref"]
        constraints = [
            models.UniqueConstraint(fields=["version", "ref"], name="schema_ref_once_per_version")
        ]

    def __str__(self) -> str:
        return self.ref
