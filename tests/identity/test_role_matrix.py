"""What each role sees and may do on every page of identity and audit, as the pages answer."""

from __future__ import annotations

from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from contextos.identity.models import Tenant
from tests.factories import make_member, make_superuser
from tests.identity.signed_in import browser_of
from tests.tenant_rows import MAKERS

PAGES = {
    "identity.Tenant": "identity_tenant",
    "identity.Environment": "identity_environment",
    "identity.User": "identity_user",
    "identity.Membership": "identity_membership",
    "identity.Agent": "identity_agent",
    "identity.TrustedIssuer": "identity_trustedissuer",
    "identity.IssuedToken": "identity_issuedtoken",
    "audit.AuditEvent": "audit_auditevent",
    "auth.Group": "auth_group",
    "axes.AccessAttempt": "axes_accessattempt",
}
# v = sees, a = adds, c = changes, d = deletes; in the order of PAGES.
#                     tenant  env    user   member agent  issuer token event  role  attempt
MATRIX = {
    "platform_admin": ("vc", "vac", "vac", "vacd", "vac", "vac", "va", "v", "v", ""),
    "manifest_author": ("v", "v", "", "", "v", "", "", "", "", ""),
    "manifest_reviewer": ("v", "v", "", "", "v", "", "", "v", "", ""),
    "finance_approver": ("v", "v", "", "", "v", "", "", "", "", ""),
    "auditor": ("v", "v", "v", "v", "v", "v", "v", "v", "v", ""),
    "operator": ("v", "v", "", "", "v", "v", "v", "v", "", ""),
    "service": ("", "", "", "", "", "", "", "", "", ""),
    "superuser": ("vac", "vac", "vac", "vacd", "vac", "vac", "va", "v", "v", "v"),
}
CASES = [
    (role, label, allowed)
    for role, row in MATRIX.items()
    for label, allowed in zip(PAGES, row, strict=True)
]


def _row(label: str, tenant: Tenant) -> Any:
    if label == "auth.Group":
        return Group.objects.get(name="auditor")
    if label == "axes.AccessAttempt":
        return AccessAttempt.objects.create(
            username="mallory", ip_address="192.0.2.1", failures_since_start=5
        )
    return MAKERS[label](tenant, "somebody")


def _browser(role: str, tenant: Tenant) -> Client:
    user = make_superuser() if role == "superuser" else make_member(tenant, role)
    return browser_of(user, tenant)


@pytest.mark.live
@pytest.mark.parametrize(("role", "label", "allowed"), CASES)
def test_a_role_sees_and_does_exactly_this(
    role: str, label: str, allowed: str, acme: Tenant
) -> None:
    row, browser, page = _row(label, acme), _browser(role, acme), PAGES[label]
    change = browser.get(reverse(f"admin:{page}_change", args=[row.pk]))
    statuses = {
        "v": browser.get(reverse(f"admin:{page}_changelist")).status_code,
        "a": browser.get(reverse(f"admin:{page}_add")).status_code,
        "d": browser.get(reverse(f"admin:{page}_delete", args=[row.pk])).status_code,
    }
    found = "".join(verb for verb in "vad" if statuses[verb] == 200)
    saves = 'name="_save"' in change.text
    assert set(found) | ({"c"} if saves else set()) == set(allowed)
    assert change.status_code == (200 if "v" in allowed else 403)
    assert set(statuses.values()) <= {200, 403}


@pytest.mark.parametrize(
    ("role", "suspends", "revokes"),
    [
        ("platform_admin", True, True),
        ("operator", True, True),
        ("auditor", False, False),
        ("manifest_author", False, False),
        ("finance_approver", False, False),
    ],
)
def test_who_may_suspend_agents_and_revoke_tokens(
    role: str, suspends: bool, revokes: bool, acme: Tenant
) -> None:
    browser = _browser(role, acme)
    token = MAKERS["identity.IssuedToken"](acme, "somebody")
    agent = MAKERS["identity.Agent"](acme, "another")
    suspend = browser.get(reverse("admin:identity_agent_suspend", args=[agent.pk]))
    revoke = browser.get(reverse("admin:identity_issuedtoken_revoke", args=[token.pk]))
    assert (suspend.status_code == 200, revoke.status_code == 200) == (suspends, revokes)


@pytest.mark.parametrize("page", sorted(PAGES.values()))
def test_strangers_are_sent_to_the_sign_in(page: str, db: None) -> None:
    answer = Client().get(reverse(f"admin:{page}_changelist"))
    assert answer.status_code == 302
    assert "/login/" in answer["Location"]


def test_nobody_can_change_or_delete_an_event_on_any_page(acme: Tenant) -> None:
    event = MAKERS["audit.AuditEvent"](acme, "somebody")
    browser = _browser("superuser", acme)
    for page in ("change", "delete"):
        answer = browser.post(reverse(f"admin:audit_auditevent_{page}", args=[event.pk]), {})
        assert answer.status_code == 403
    assert browser.get(reverse("admin:audit_auditevent_add")).status_code == 403
