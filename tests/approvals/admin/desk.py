"""A tenant whose gate fin1 and fin2 keep, and the browsers of everybody around it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.test import Client
from django.urls import reverse
from django_otp.oath import TOTP
from guardian.shortcuts import assign_perm

from approvals.models import ApprovalRequest, ApproverGroup, Gate
from approvals.services import groups
from contextos.identity.models import Tenant, TotpDevice, User
from tests.approvals.admin.rows import make_request
from tests.factories import SYSTEM, make_member, make_tenant
from tests.identity.signed_in import browser_of

GATE = "GATE_FINANCE_APPROVAL"
QUEUE = "/admin/approvals/approvalrequest/"


@dataclass
class Desk:
    """Gates, people and requests as rows: quick to make, without a gateway behind them."""

    tenant: Tenant = field(default_factory=lambda: make_tenant())
    _people: dict[str, User] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.group("finance", "fin1", "fin2")
        self.keep(GATE, "finance")

    # --- people ---
    def person(self, name: str, *roles: str) -> User:
        if name not in self._people:
            user = make_member(self.tenant, *(roles or ("finance_approver",)))
            device = TotpDevice(user=user, name="test", confirmed=True)
            device.set_secret(self._secret(name))
            device.save()
            self._people[name] = user
        return self._people[name]

    def browser(self, name: str, *roles: str) -> Client:
        return browser_of(self.person(name, *roles), self.tenant)

    @cached_property
    def fin1(self) -> Client:
        return self.browser("fin1")

    @cached_property
    def fin2(self) -> Client:
        return self.browser("fin2")

    def code(self, name: str) -> str:
        """A fresh code each time: the app's present one, as if none had been used before.

        Good also where the half minute ends before it is judged.
        """
        TotpDevice.objects.filter(user=self.person(name)).update(last_step=-1)
        generator = TOTP(self._secret(name))
        generator.time = time.time()
        return f"{generator.token():06d}"

    @staticmethod
    def _secret(name: str) -> bytes:
        return b"secret of " + name.encode().ljust(10, b".")

    # --- gates ---
    def group(self, name: str, *people: str) -> ApproverGroup:
        made = groups.create_group(
            tenant_id=self.tenant.pk, name=name, title=name.title(), actor=SYSTEM
        )
        for person in people:
            groups.add_person(group=made, user=self.person(person), actor=SYSTEM)
        return made

    def keep(self, gate_id: str, group: str) -> Gate:
        gate, _ = Gate.objects.get_or_create(tenant=self.tenant, gate_id=gate_id)
        behind = ApproverGroup.objects.get(tenant=self.tenant, name=group).group
        assign_perm("approvals.vote_gate", behind, gate)
        return gate

    # --- requests ---
    def request(self, **changes: Any) -> ApprovalRequest:
        return make_request(self.tenant, **changes)

    def vote(
        self, request: ApprovalRequest, name: str, verdict: str = "approve", **changes: Any
    ) -> Any:
        """The confirm step, sent by a browser."""
        posted = {"digest": request.digest, "reason": "Checked with the customer.", **changes}
        if (
            verdict == "approve"
            and request.effective_mode == "destructive"
            and "code" not in posted
        ):
            posted["code"] = self.code(name)
        return self.browser(name).post(page(request, verdict), posted)


def page(request: ApprovalRequest, name: str = "change") -> str:
    return reverse(f"admin:approvals_approvalrequest_{name}", args=[request.pk])
