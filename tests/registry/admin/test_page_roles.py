"""Who may open which page: every role, every page, and nothing of another tenant."""

from __future__ import annotations

import pytest

from registry.models import KillSwitch
from tests.registry.admin.visits import browser, page, version_page
from tests.registry.house import House
from tests.registry.manifests import orders

READERS = ("admin", "author", "reviewer", "auditor", "operator")
READ_PAGES = (
    "adapter_changelist",
    "adapterversion_changelist",
    "capability_changelist",
    "schemadocument_changelist",
    "resource_changelist",
    "prompt_changelist",
    "killswitch_changelist",
)


@pytest.mark.parametrize("name", READERS)
def test_everybody_with_a_part_in_the_registry_reads_it(house: House, name: str) -> None:
    visitor = browser(house, name)
    assert [visitor.get(page(listed)).status_code for listed in READ_PAGES] == [200] * 7


@pytest.mark.parametrize("name", ["approver", "service"])
def test_others_see_nothing_of_it(house: House, name: str) -> None:
    version = house.published(orders())
    visitor = browser(house, name)
    for listed in READ_PAGES:
        assert visitor.get(page(listed)).status_code in (302, 403)
    for one in ("change", "review", "download", "edit"):
        assert visitor.get(version_page(version, one)).status_code in (302, 403)


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("admin", True),
        ("author", True),
        ("reviewer", False),
        ("auditor", False),
        ("operator", False),
    ],
)
def test_only_authors_and_admins_write(house: House, name: str, may: bool) -> None:
    draft = house.draft(orders())
    visitor = browser(house, name)
    expected = 200 if may else 403
    assert visitor.get(page("adapterversion_new")).status_code == expected
    assert visitor.get(version_page(draft, "edit")).status_code == expected
    assert visitor.get(version_page(draft, "submit")).status_code == expected
    check = visitor.post(page("adapterversion_check"), {"view": "json", "document": "{}"})
    assert check.status_code == expected


@pytest.mark.proves("D3")
def test_every_page_of_another_tenant_is_as_good_as_absent(house: House, neighbour: House) -> None:
    version = house.published(orders())
    switch = house.throw("adapter", "adp_orders")
    visitor = browser(neighbour, "admin")
    for one in ("change", "review", "submit", "publish", "retire", "download", "edit"):
        assert visitor.get(version_page(version, one)).status_code == 404
    assert visitor.get(page("killswitch_lift", switch.pk)).status_code == 404
    assert visitor.get(page("adapterversion_new"), {"from": version.pk}).status_code == 404
    posted = visitor.post(
        page("killswitch_add"),
        {"scope": "adapter", "target_id": "adp_orders", "reason": "x", "confirmed": "yes"},
    )
    assert posted.status_code == 422
    assert KillSwitch.objects.count() == 1


def test_without_a_second_factor_no_page_opens(house: House) -> None:
    visitor = browser(house, "admin")
    session = visitor.session
    del session["otp_device_id"]
    session.save()
    assert visitor.get(page("adapter_changelist")).status_code == 302
