"""What keeps adapters and the gateway from each other: breakers, their terms, counted rates."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from contextos.identity.models import Tenant
from gateway.states import BREAKERS, BreakerState


class Breaker(models.Model):
    """One adapter of one tenant, as every process sees it; changed by compare-and-set only.

    A row is made by the first failure: an adapter without one is closed.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    adapter_id = models.CharField("adapter", max_length=100)
    state = models.CharField(max_length=16, choices=BreakerState, default=BreakerState.CLOSED)
    failures = models.PositiveIntegerField(default=0, help_text="In the window that is running.")
    calls = models.PositiveIntegerField(default=0, help_text="Counted beside the failures.")
    window_started_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True, help_text="When the next probes are let through.")
    opens = models.PositiveIntegerField(
        default=0, help_text="How often in a row; each one doubles the wait, up to a limit."
    )
    probes = models.PositiveIntegerField(default=0, help_text="Let through since half open.")
    last_code = models.CharField("last failure", max_length=100, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["adapter_id"]
        default_permissions = ("view",)
        permissions = [("reset_breaker", "Can close a breaker by hand")]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "adapter_id"], name="breaker_once"),
            models.CheckConstraint(
                name="breaker_state_known",
                condition=models.Q(state__in=BREAKERS.check_constraint_values()),
            ),
            models.CheckConstraint(
                name="breaker_open_has_an_end",
                condition=models.Q(state="closed") | models.Q(retry_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant"], condition=~models.Q(state="closed"), name="breaker_not_closed"
            )
        ]

    def __str__(self) -> str:
        return self.adapter_id


def _within(least: int, most: int) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(least), MaxValueValidator(most)]


class AdapterTerms(models.Model):
    """What a person set for one adapter; what has no row here follows the settings."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    adapter_id = models.CharField("adapter", max_length=100)
    failures = models.PositiveIntegerField(
        validators=_within(1, 1000), help_text="So many failures within the window open it."
    )
    failure_percent = models.PositiveSmallIntegerField(
        validators=_within(1, 100), help_text="And at least this share of the calls counted."
    )
    window_seconds = models.PositiveIntegerField(validators=_within(1, 3600))
    open_seconds = models.PositiveIntegerField(
        validators=_within(1, 3600), help_text="How long it stays open the first time."
    )
    probes = models.PositiveSmallIntegerField(
        validators=_within(1, 100), help_text="Calls let through to see whether it works again."
    )
    at_once = models.PositiveIntegerField(
        validators=_within(1, 1000), help_text="Quick calls at the same time, in one process."
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["adapter_id"]
        default_permissions = ("view", "change")
        verbose_name_plural = "adapter terms"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "adapter_id"], name="adapter_terms_once")
        ]

    def __str__(self) -> str:
        return self.adapter_id


class RateCount(models.Model):
    """Calls of one capability in its running window, counted here while Redis is away."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="+")
    capability_id = models.CharField(max_length=200)
    window_started_at = models.DateTimeField()
    used = models.PositiveIntegerField(default=0)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["tenant", "capability_id"], name="rate_count_once")
        ]

    def __str__(self) -> str:
        return self.capability_id
