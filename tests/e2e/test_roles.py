"""What each role sees in the menu, and what answers 403, in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.visitor import Visitor

ArriveAs = Callable[[str], Visitor]

HOME = ["Tenants", "Environments"]
LOG = ["Records", "Events", "The log", "Standing reports", "Exports", "Scheduled reports"]
KEPT = ["Legal holds", "Retention"]
READ_ALL = [
    *LOG,
    "Erasures",
    "Auditors",
    *KEPT,
    *HOME,
    "People",
    "Memberships",
    "Roles",
    "Agents",
    "Trusted issuers",
    "Tokens",
]
SEEN = {
    "admin": READ_ALL,
    "author": [*HOME, "Agents"],
    "reviewer": ["Events", *HOME, "Agents"],
    "fin1": [*HOME, "Agents"],
    "auditor": READ_ALL,
    "operator": [*LOG, "Erasures", *KEPT, *HOME, "Agents", "Trusted issuers", "Tokens"],
}
CLOSED = {
    "admin": ["/admin/audit/auditevent/add/"],
    "author": ["/admin/identity/user/", "/admin/audit/auditevent/", "/admin/identity/agent/add/"],
    "reviewer": ["/admin/identity/user/", "/admin/identity/issuedtoken/"],
    "fin1": ["/admin/audit/auditevent/", "/admin/identity/membership/"],
    "auditor": ["/admin/identity/agent/add/", "/admin/identity/membership/add/"],
    "operator": ["/admin/identity/membership/", "/admin/identity/user/add/"],
}


@pytest.mark.parametrize("name", list(SEEN))
def test_the_menu_holds_what_the_role_may_open(sign_in: ArriveAs, name: str) -> None:
    visitor = sign_in(name)
    visitor.keep_picture(f"front-page-{name}")
    assert visitor.menu("Audit", "Identity") == SEEN[name]
    links = visitor.page.locator("[data-menu-entry] a").evaluate_all(
        "links => links.map(l => l.href)"
    )
    for link in links:
        answer = visitor.page.goto(link)
        assert answer is not None
        assert answer.status == 200, link


@pytest.mark.parametrize("name", list(CLOSED))
def test_closed_pages_say_so(sign_in: ArriveAs, name: str) -> None:
    visitor = sign_in(name)
    visitor.expected_status = {403}
    for path in CLOSED[name]:
        assert visitor.open(path) == 403, path
        assert visitor.page.inner_text("h1") == "You may not open this page"
    visitor.judge_looks("forbidden")


@pytest.mark.parametrize("name", ["author", "reviewer", "fin1", "auditor", "operator"])
def test_pages_of_the_installation_are_for_its_administrators(sign_in: ArriveAs, name: str) -> None:
    visitor = sign_in(name)
    visitor.expected_status = {403}
    assert visitor.open("/admin/axes/accessattempt/") == 403
    assert "Failed sign-ins" not in visitor.menu("System")
