"""Pages are called what people call them, in the browser's tab and in the trail."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from contextos.identity.models import Membership
from tests.adminkit.world import make_person, make_tenant, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin_pages() -> Client:
    """The browser of somebody who runs a tenant."""
    return signed_in(make_person("pat", make_tenant(), "platform_admin"))


def _title(page: str) -> str:
    found = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert found is not None
    return " ".join(found.group(1).split())


def _trail(page: str) -> str:
    found = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert found is not None
    words = re.sub(r"chevron_right", "›", re.sub(r"<[^>]+>", " ", found.group()))
    return " ".join(words.split())


@pytest.mark.parametrize(
    ("url_name", "name"),
    [
        ("admin:registry_adapter_changelist", "Adapters"),
        ("admin:registry_adapterversion_changelist", "Versions in review"),
        ("admin:registry_capability_changelist", "Capabilities"),
        ("admin:identity_user_changelist", "People"),
        ("admin:auth_group_changelist", "Roles"),
    ],
)
def test_a_list_is_called_what_the_menu_calls_it(
    admin_pages: Client, url_name: str, name: str
) -> None:
    page = admin_pages.get(reverse(url_name)).text
    assert _title(page) == f"{name} | ContextOS"
    assert _trail(page) == name


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ("published", "Versions: published"),
        ("all", "All versions"),
        ("no such state", "Versions in review"),
    ],
)
def test_a_list_of_versions_is_called_after_the_state_it_shows(
    admin_pages: Client, state: str, name: str
) -> None:
    page = admin_pages.get(reverse("admin:registry_adapterversion_changelist"), {"state": state})
    assert _title(page.text) == f"{name} | ContextOS"


def test_a_role_is_shown_in_words_with_its_code_beside_it(admin_pages: Client) -> None:
    role = Group.objects.get(name="manifest_author")
    page = admin_pages.get(reverse("admin:auth_group_change", args=[role.pk])).text
    assert _title(page) == "manifest author | Roles | ContextOS"
    assert _trail(page) == "Roles › manifest author"
    assert "manifest_author" in page


def test_a_membership_is_called_after_person_and_role(admin_pages: Client) -> None:
    held = Membership.objects.get()
    page = admin_pages.get(reverse("admin:identity_membership_change", args=[held.pk])).text
    assert _trail(page).startswith("Memberships ›")
    assert _trail(page).endswith("as platform admin")


def test_a_form_for_something_new_says_so(admin_pages: Client) -> None:
    page = admin_pages.get(reverse("admin:identity_user_add")).text
    assert _trail(page) == "People › Add person"
    assert re.search(r">\s*finance approver\s*</option>", page)
    assert not re.search(r">\s*finance_approver\s*</option>", page)


def test_memberships_are_filtered_by_a_role_in_words(admin_pages: Client) -> None:
    address = reverse("admin:identity_membership_changelist")
    held = admin_pages.get(address, {"role": "platform_admin"})
    assert [row.user.username for row in held.context["cl"].result_list] == ["pat"]
    assert "finance approver" in held.text
    assert not admin_pages.get(address, {"role": "operator"}).context["cl"].result_list
