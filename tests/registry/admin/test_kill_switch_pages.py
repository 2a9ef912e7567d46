"""Kill switches on pages: what stops is shown first, thrown and lifted with a reason."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from registry.models import KillSwitch
from tests.registry.admin.visits import browser, page, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.offered import offered

ADD = page("killswitch_add")


@pytest.fixture
def operator(house: House) -> Client:
    return browser(house, "operator")


@pytest.mark.proves("B19")
@pytest.mark.parametrize("scope", ["adapter", "version", "capability", "tenant"])
def test_what_will_stop_is_shown_before_it_stops(
    house: House, operator: Client, scope: str
) -> None:
    version = house.published(orders())
    targets = {
        "adapter": "adp_orders",
        "version": version.pk,
        "capability": "orders.lookup",
        "tenant": "",
    }
    given = {"scope": scope, "target_id": targets[scope], "reason": "Wrong totals."}
    asked = text_of(operator.post(ADD, given))
    assert "orders.lookup" in asked
    assert "Wrong totals." in asked
    assert not KillSwitch.objects.exists()
    answer = operator.post(ADD, {**given, "confirmed": "yes"})
    assert answer.status_code == 302
    refusal = offered(house.tenant_id)["orders.lookup"].refusal
    assert refusal is not None
    assert refusal.message.endswith("is switched off: Wrong totals.")
    for address in (version_page(version), page("adapter_change", version.adapter_id)):
        if scope != "capability" or "version" in address:
            assert "Stopped by a kill switch" in text_of(operator.get(address))


def test_a_misspelt_target_stops_nothing_and_says_so(house: House, operator: Client) -> None:
    for scope, target in (("adapter", "adp_none"), ("capability", ""), ("version", "adv_x")):
        given = {"scope": scope, "target_id": target, "reason": "x"}
        for more in ({}, {"confirmed": "yes"}):
            answer = operator.post(ADD, {**given, **more})
            assert answer.status_code == 422
            assert "nothing of that name" in text_of(answer)
    assert not KillSwitch.objects.exists()


def test_a_reason_is_needed_to_throw_and_to_lift(house: House, operator: Client) -> None:
    house.published(orders())
    given = {"scope": "adapter", "target_id": "adp_orders", "reason": ""}
    assert operator.post(ADD, {**given, "confirmed": "yes"}).status_code == 422
    operator.post(ADD, {**given, "reason": "Stop.", "confirmed": "yes"})
    switch = KillSwitch.objects.get()
    assert operator.post(page("killswitch_lift", switch.pk), {"reason": ""}).status_code == 422
    operator.post(page("killswitch_lift", switch.pk), {"reason": "Fixed upstream."})
    switch.refresh_from_db()
    assert not switch.is_thrown
    shown = text_of(operator.get(page("killswitch_change", switch.pk)))
    assert "Fixed upstream." in shown
    assert "Kill switch lifted" in shown


def test_the_form_is_filled_in_from_the_page_of_what_should_stop(
    house: House, operator: Client
) -> None:
    version = house.published(orders())
    shown = text_of(operator.get(page("adapter_change", version.adapter_id)))
    assert f"{ADD}?scope=adapter&amp;target_id=adp_orders" in shown
    filled = text_of(operator.get(ADD, {"scope": "adapter", "target_id": "adp_orders"}))
    assert 'value="adp_orders"' in filled


def test_the_list_shows_state_and_narrows_by_it(house: House, operator: Client) -> None:
    house.published(orders())
    operator.post(ADD, {"scope": "tenant", "target_id": "", "reason": "Drill.", "confirmed": "yes"})
    listed = page("killswitch_changelist")
    shown = text_of(operator.get(listed))
    assert "stopping calls" in shown
    row = re.search(rf'href="({listed}[^"?]+/change/)', shown)
    assert row is not None
    assert operator.get(row[1]).status_code == 200
    assert "Drill." not in text_of(operator.get(listed, {"state": "lifted"}))


@pytest.mark.parametrize("name", ["author", "reviewer", "auditor"])
def test_others_see_switches_but_throw_and_lift_none(
    house: House, operator: Client, name: str
) -> None:
    house.published(orders())
    operator.post(
        ADD,
        {"scope": "adapter", "target_id": "adp_orders", "reason": "Stop.", "confirmed": "yes"},
    )
    switch = KillSwitch.objects.get()
    visitor = browser(house, name)
    assert visitor.get(page("killswitch_changelist")).status_code == 200
    assert visitor.get(page("killswitch_change", switch.pk)).status_code == 200
    assert visitor.get(ADD).status_code == 403
    assert visitor.post(page("killswitch_lift", switch.pk), {"reason": "x"}).status_code == 403


def test_the_list_takes_the_same_statements_for_one_switch_and_for_many(
    house: House, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    operator = browser(house, "operator")

    def throw(number: int) -> None:
        version = house.draft(orders(adapter_id=f"adp_orders_{number}"))
        house.throw("version", version.pk)

    throw(0)
    operator.get(page("killswitch_changelist"))
    with CaptureQueriesContext(connection) as one:
        operator.get(page("killswitch_changelist"))
    for number in range(1, 6):
        throw(number)
    with django_assert_max_num_queries(len(one)):
        shown = text_of(operator.get(page("killswitch_changelist")))
    assert "Version: adp_orders_5 1.0.0" in shown
    assert house.user("operator").username in shown


def test_a_version_is_stopped_by_its_number_too(house: House) -> None:
    version = house.published(orders())
    given = {"scope": "version", "target_id": "adp_orders@1.0.0", "reason": "Wrong totals."}
    answer = browser(house, "operator").post(ADD, {**given, "confirmed": "yes"})
    assert answer.status_code == 302
    assert KillSwitch.objects.get().target_id == version.pk
