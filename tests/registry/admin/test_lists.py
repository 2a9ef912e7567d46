"""The registry's lists: columns, filters, search, empty states, tenant walls."""

from __future__ import annotations

import re

import pytest

from registry.models import Prompt, Resource, SchemaDocument
from tests.registry.admin.visits import browser, page, text_of
from tests.registry.house import House
from tests.registry.manifests import orders, refunds

LISTS = ("adapter", "adapterversion", "capability", "schemadocument", "resource", "prompt")


@pytest.mark.parametrize("name", [*LISTS, "killswitch"])
def test_an_empty_list_teaches_what_it_is_for(house: House, name: str) -> None:
    shown = text_of(browser(house, "admin").get(page(f"{name}_changelist")))
    assert "cos-blank" in shown
    assert "come into being" not in shown


def test_the_first_step_for_an_author_is_one_click_away(house: House) -> None:
    shown = text_of(browser(house, "author").get(page("adapter_changelist")))
    assert "Write your first manifest" in shown
    assert page("adapterversion_new") in shown
    assert "docs/guides/manifest-author" in shown


@pytest.mark.parametrize(
    ("name", "first_step"),
    [("adapter", "adapterversion_new"), ("killswitch", "killswitch_add")],
)
def test_the_first_step_is_offered_to_those_who_may_take_it(
    house: House, name: str, first_step: str
) -> None:
    for who in ("admin", "auditor"):
        visitor = browser(house, who)
        offered = page(first_step) in text_of(visitor.get(page(f"{name}_changelist")))
        assert offered is (visitor.get(page(first_step)).status_code == 200)


def test_adapters_show_active_version_mode_state_and_findings(house: House) -> None:
    house.published(refunds(version="1.0.0"))
    house.draft(refunds(version="1.1.0", owner_role=""))
    shown = text_of(browser(house, "auditor").get(page("adapter_changelist")))
    for words in ("production: 1.0.0", "destructive", "Published", "Draft", "blocking"):
        assert words in shown


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"state": "published"}, True),
        ({"state": "in_review"}, False),
        ({"state": "stopped"}, True),
        ({"environment": "production"}, True),
        ({"environment": "staging"}, False),
        ({"mode": "read_only"}, True),
        ({"mode": "destructive"}, False),
        ({"q": "orders_platform"}, True),
        ({"q": "nothing"}, False),
    ],
)
def test_adapters_are_filtered_and_searched(
    house: House, wanted: dict[str, str], found: bool
) -> None:
    house.published(orders())
    house.throw("adapter", "adp_orders")
    shown = text_of(browser(house, "auditor").get(page("adapter_changelist"), wanted))
    assert ("production: 1" in shown) is found


def test_the_versions_list_opens_on_what_waits_for_reviewers(house: House) -> None:
    house.in_review(orders(version="1.0.0"))
    house.draft(refunds(version="2.0.0"))
    visitor, listed = browser(house, "reviewer"), page("adapterversion_changelist")
    shown = text_of(visitor.get(listed))
    assert "adp_orders 1.0.0" in shown
    assert "2.0.0" not in shown
    assert "all new" in shown
    assert "0 of 1" in shown
    everything = text_of(visitor.get(listed, {"state": "all"}))
    assert "adp_orders 1.0.0" in everything
    assert "2.0.0" in everything


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, True),
        ({"mode": "destructive"}, True),
        ({"mode": "read_only"}, False),
        ({"class": "act"}, True),
        ({"class": "recall"}, False),
        ({"gate": "GATE_FINANCE_APPROVAL"}, True),
        ({"environment": "development"}, False),
        ({"q": "settled transaction"}, True),
        ({"q": "issue_ref"}, True),
        ({"q": "no such thing"}, False),
    ],
)
def test_the_catalogue_is_filtered_and_searched(
    house: House, wanted: dict[str, str], found: bool
) -> None:
    house.published(refunds())
    shown = text_of(browser(house, "auditor").get(page("capability_changelist"), wanted))
    assert ("payments.issue_refund</a>" in shown) is found


def test_the_catalogue_shows_drafts_only_when_asked(house: House) -> None:
    house.draft(orders())
    visitor, listed = browser(house, "author"), page("capability_changelist")
    assert "orders.lookup</a>" not in text_of(visitor.get(listed))
    assert "orders.lookup</a>" in text_of(visitor.get(listed, {"published": "all"}))


def test_a_capabilitys_page_shows_its_whole_contract(house: House) -> None:
    version = house.published(refunds())
    capability = version.capabilities.get()
    shown = text_of(browser(house, "auditor").get(page("capability_change", capability.pk)))
    for words in ("destructive", "GATE_FINANCE_APPROVAL", "dedup_window_seconds", "refund_id"):
        assert words in shown
    assert "Issue a refund against a settled transaction." in shown


def test_schemas_resources_and_prompts_have_pages(house: House) -> None:
    manifest = orders()
    manifest["resources"] = [
        {"uri": "orders://all", "name": "All orders", "classification": "CONFIDENTIAL"}
    ]
    manifest["prompts"] = [{"name": "explain_order", "title": "Explain", "version": "1.0.0"}]
    house.draft(manifest)
    visitor = browser(house, "auditor")
    rows = {
        "schemadocument": SchemaDocument.objects.order_by("pk").first(),
        "resource": Resource.objects.get(),
        "prompt": Prompt.objects.get(),
    }
    for name, row in rows.items():
        assert row is not None
        assert visitor.get(page(f"{name}_changelist")).status_code == 200
        shown = text_of(visitor.get(page(f"{name}_change", row.pk)))
        assert "adp_orders" in shown
    assert "CONFIDENTIAL" in text_of(visitor.get(page("resource_changelist")))
    found = visitor.get(page("schemadocument_changelist"), {"q": "orders.lookup.input"})
    assert "schema://orders.lookup.input.v1" in text_of(found)


@pytest.mark.parametrize("name", [*LISTS, "killswitch"])
def test_every_row_leads_to_its_page(house: House, name: str) -> None:
    manifest = orders()
    manifest["resources"] = [{"uri": "orders://all", "classification": "INTERNAL"}]
    manifest["prompts"] = [{"name": "explain_order"}]
    house.published(manifest)
    house.throw("adapter", "adp_orders")
    visitor = browser(house, "auditor")
    asked = {"state": "published"} if name == "adapterversion" else {}
    shown = text_of(visitor.get(page(f"{name}_changelist"), asked))
    links = set(re.findall(rf'href="(/admin/registry/{name}/[^"]+/change/)', shown))
    assert links
    for link in links:
        assert visitor.get(link).status_code == 200


@pytest.mark.proves("D3")
@pytest.mark.parametrize("name", LISTS)
def test_a_foreign_tenants_rows_are_neither_listed_nor_opened(
    house: House, neighbour: House, name: str
) -> None:
    manifest = orders()
    manifest["resources"] = [{"uri": "orders://secret", "classification": "INTERNAL"}]
    manifest["prompts"] = [{"name": "secret_prompt"}]
    version = house.published(manifest)
    rows = {
        "adapter": version.adapter_id,
        "adapterversion": version.pk,
        "capability": version.capabilities.get().pk,
        "schemadocument": version.schemas.first().document_id,  # type: ignore[union-attr]
        "resource": version.resources.get().pk,
        "prompt": version.prompts.get().pk,
    }
    visitor = browser(neighbour, "admin")
    listed = text_of(visitor.get(page(f"{name}_changelist"), {"state": "all"}))
    assert "adp_orders" not in listed
    assert "secret" not in listed
    assert visitor.get(page(f"{name}_change", rows[name])).status_code == 404
