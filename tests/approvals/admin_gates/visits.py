"""Visits to the pages of gates by the people of a house."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import reverse

from approvals.models import GateVersion
from approvals.services import gates
from tests.approvals.admin_gates.rows import make_group
from tests.approvals.test_gates import gate
from tests.factories import make_member
from tests.identity.signed_in import browser_of
from tests.registry.house import ROLES, House

READERS = ("admin", "author", "reviewer", "auditor", "operator", "approver")
WRITERS = ("admin", "author")


@dataclass
class GateHouse(House):
    """A house with the approver groups that the example gate names."""

    def __post_init__(self) -> None:
        self.keepers = [make_member(self.tenant, "finance_approver") for _ in range(2)]
        self.finance = make_group(self.tenant, "finance", *self.keepers)

    def browser(self, name: str) -> Client:
        return browser_of(self.user(name), self.tenant)

    def gate_draft(self, *, by: str = "author", **changes: Any) -> GateVersion:
        return gates.create_draft(
            tenant_id=self.tenant_id,
            document=gate(**changes),
            author=self.user(by),
            actor=self.actor(by),
        )

    def gate_in_review(self, **changes: Any) -> GateVersion:
        draft = self.gate_draft(**changes)
        return gates.submit(version_id=draft.pk, actor=self.actor("author"))

    def gate_approved(self, **changes: Any) -> GateVersion:
        version = self.gate_in_review(**changes)
        return gates.approve(
            version_id=version.pk,
            reviewer=self.user("reviewer"),
            actor=self.actor("reviewer"),
            reason="Read.",
            accepted_warnings=[item["id"] for item in version.findings],
        )

    def gate_published(self, **changes: Any) -> GateVersion:
        version = self.gate_approved(**changes)
        return gates.publish(version_id=version.pk, actor=self.actor("admin"))


def staffed_gate_house() -> GateHouse:
    """A house in which everybody is there already: to be recorded and copied back."""
    house = GateHouse()
    for name in ROLES:
        house.user(name)
    return house


def page(name: str, *arguments: Any) -> str:
    """The address of a page of approvals."""
    return reverse(f"admin:approvals_{name}", args=arguments)


def gate_page(version: GateVersion, name: str = "change", tab: str = "") -> str:
    """The address of one of a gate version's pages."""
    return page(f"gateversion_{name}", version.pk) + (f"?tab={tab}" if tab else "")


def text_of(answer: Any) -> str:
    """A page's HTML."""
    return str(answer.content.decode("utf-8"))


def fields(**changes: Any) -> dict[str, Any]:
    """The form of a new gate as a browser sends it."""
    return {
        "view": "form",
        "action": "save",
        "gate_id": "GATE_PAYOUTS",
        "version": "",
        "title": "Payouts",
        "description": "",
        "owner_role": "treasury",
        "stage-0-name": "finance",
        "stage-0-groups": ["finance"],
        "stage-0-quorum": "1",
        "deny_threshold": "1",
        "expires-count": "2",
        "expires-unit": "days",
        "second_factor": "always",
        "reminder-0-count": "4",
        "reminder-0-unit": "hours",
        "escalation-0-count": "1",
        "escalation-0-unit": "days",
        "escalation-0-groups": ["finance"],
        **changes,
    }
