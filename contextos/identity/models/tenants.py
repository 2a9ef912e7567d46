"""Tenants and their environments: the walls that nothing crosses."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from contextos.core.events import PLATFORM_TENANT

tenant_id_shape = RegexValidator(
    r"\A[a-z][a-z0-9_]{2,63}\Z",
    "Use 3 to 64 lowercase letters, digits and underscores, starting with a letter.",
)


RUN_LIMITS = (
    "run_max_calls",
    "run_max_cost_cents",
    "run_max_wall_seconds",
    "run_lifetime_seconds",
)


class EnvironmentName(models.TextChoices):
    """The four environments of an adapter manifest."""

    PRODUCTION = "production", "Production"
    STAGING = "staging", "Staging"
    DEVELOPMENT = "development", "Development"
    WORKSTATION = "workstation", "Workstation"


def _run_limit(
    label: str, help_text: str, most: int
) -> models.BigIntegerField[int | None, int | None]:
    """A bound on the runs of a tenant; none set is the installation's."""
    return models.BigIntegerField(
        label,
        null=True,
        blank=True,
        help_text=f"{help_text} Empty: as the installation has it.",
        validators=[MinValueValidator(1), MaxValueValidator(most)],
    )


class Tenant(models.Model):
    """One customer or business unit; every governed thing belongs to exactly one."""

    tenant_id = models.CharField(primary_key=True, max_length=64, validators=[tenant_id_shape])
    name = models.CharField(max_length=200)
    default_environment = models.CharField(
        max_length=16, choices=EnvironmentName, default=EnvironmentName.DEVELOPMENT
    )
    is_active = models.BooleanField(
        default=True, help_text="An inactive tenant can't sign in, open runs or use tokens."
    )
    run_max_calls = _run_limit("Calls of a run", "How many calls one run may make.", 10**6)
    run_max_cost_cents = _run_limit(
        "Cost of a run", "How much one run may spend, in cents.", 10**12
    )
    run_max_wall_seconds = _run_limit(
        "Working time of a run", "In seconds; waiting for people does not count.", 31 * 86_400
    )
    run_lifetime_seconds = _run_limit(
        "Lifetime of a run", "In seconds, whatever it waits for.", 31 * 86_400
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant_id"]
        default_permissions = ("add", "change", "view")
        constraints = [
            # The log keeps this name for events of the installation itself.
            models.CheckConstraint(
                name="tenant_id_not_reserved", condition=~models.Q(tenant_id=PLATFORM_TENANT)
            ),
            models.CheckConstraint(
                name="tenant_default_environment_known",
                condition=models.Q(default_environment__in=EnvironmentName.values),
            ),
            *(
                models.CheckConstraint(
                    name=f"tenant_{limit}_positive", condition=models.Q(**{f"{limit}__gte": 1})
                )
                for limit in RUN_LIMITS
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Environment(models.Model):
    """An environment that a tenant uses."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="environments")
    name = models.CharField(max_length=16, choices=EnvironmentName)
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ["tenant", "name"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], name="environment_once_per_tenant"),
            models.CheckConstraint(
                name="environment_name_known", condition=models.Q(name__in=EnvironmentName.values)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant_id} / {self.get_name_display()}"
