"""Agents: the workloads that propose tool calls."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from contextos.core.modes import ApprovalMode
from contextos.identity.models.people import User
from contextos.identity.models.tenants import Tenant

agent_id_shape = RegexValidator(
    r"\A[a-z][a-z0-9_.-]{2,99}\Z",
    "Use 3 to 100 lowercase letters, digits, dots, dashes and underscores.",
)
MODE_CHOICES = [(mode.value, mode.value.replace("_", " ")) for mode in ApprovalMode]


class Agent(models.Model):
    """A workload with an accountable owner; `max_mode` is the highest mode its tokens may carry.

    Ids are unique within a tenant only: a taken name would tell about another tenant's agents.
    """

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="agents")
    agent_id = models.CharField(max_length=100, validators=[agent_id_shape])
    name = models.CharField(max_length=200)
    agent_urn = models.CharField(
        max_length=255, blank=True, help_text="For example urn:contextos:agent:acme:refunds."
    )
    workload_identity = models.CharField(
        max_length=255, blank=True, help_text="For example a SPIFFE id."
    )
    role = models.CharField(
        max_length=64, help_text="The role that Context Pack permissions are written for."
    )
    max_mode = models.CharField(
        max_length=16, choices=MODE_CHOICES, default=ApprovalMode.READ_ONLY.value
    )
    owner = models.ForeignKey(
        User,
        on_delete=models.PROTECT,
        related_name="owned_agents",
        help_text="The person accountable for this agent; they can't approve its calls.",
    )
    callback_url = models.CharField(
        "callback address",
        max_length=500,
        blank=True,
        help_text="Told when a call that had to wait has ended; empty means nobody is told.",
    )
    sealed_callback_secret = models.BinaryField(null=True, help_text="Signs the callbacks.")
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["tenant", "agent_id"]
        default_permissions = ("add", "change", "view")
        permissions = [("suspend_agent", "Can switch agents off and on")]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "agent_id"], name="agent_once_per_tenant"),
            # An outside issuer names agents by these; two answers would be one too many.
            models.UniqueConstraint(
                fields=["tenant", "agent_urn"],
                condition=~models.Q(agent_urn=""),
                name="agent_urn_once_per_tenant",
            ),
            models.UniqueConstraint(
                fields=["tenant", "workload_identity"],
                condition=~models.Q(workload_identity=""),
                name="workload_once_per_tenant",
            ),
            models.CheckConstraint(
                name="agent_max_mode_known",
                condition=models.Q(max_mode__in=[mode.value for mode in ApprovalMode]),
            ),
        ]

    def __str__(self) -> str:
        return self.name
