"""Values by their salted commitments, encrypted and erasable."""

from __future__ import annotations

from django.db import models


class Payload(models.Model):
    """A value by its salted commitment, encrypted; erasing it leaves every proof valid."""

    payload_id = models.CharField(primary_key=True, max_length=40)
    tenant_id = models.CharField(max_length=64)
    decision_id = models.CharField(max_length=40, blank=True)
    kind = models.CharField(max_length=20, help_text="args, inputs, output, transcript ...")
    commitment = models.CharField(max_length=71)
    sealed = models.BinaryField(
        null=True, help_text="Salt and value under the field keys; null once erased."
    )
    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ()
        indexes = [
            # Looked up for arguments alone, and a commitment lies anywhere in an index.
            models.Index(
                fields=["tenant_id", "commitment"],
                condition=models.Q(kind="args"),
                name="payload_args_by_commitment",
            ),
            models.Index(fields=["decision_id", "kind"], name="payload_by_decision"),
            models.Index(
                fields=["created_at"],
                condition=models.Q(sealed__isnull=False),
                name="payload_not_erased",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="payload_erased_is_empty",
                condition=models.Q(erased_at__isnull=True, sealed__isnull=False)
                | models.Q(erased_at__isnull=False, sealed__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return self.payload_id
