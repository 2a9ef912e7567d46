"""Lists: filtered, paged by keyset, and read with the same few statements however long they are."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.models import Capability
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, caller, code_of, version_path, versions
from tests.registry.furnished import house_or
from tests.registry.house import House, staffed
from tests.registry.manifests import many, orders, refunds


def ids(response: Any, member: str = "capability_id") -> list[str]:
    assert response.status_code == 200, response.content
    return [item[member] for item in response.json()["results"]]


@pytest.fixture
def reader(house: House) -> Caller:
    return caller(house, "operator")  # what an auditor is shown costs a record as well


def _catalogue() -> House:
    """Two adapters in production, one of them in staging too."""
    house = ready(staffed)
    house.published(many(3))
    house.published(refunds())
    house.published(orders(environment="staging"))
    return house


house, catalogue = house_or("catalogue", _catalogue)


@pytest.mark.proves("B8")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "",
            {
                "orders.lookup",
                "orders.lookup_0",
                "orders.lookup_1",
                "orders.lookup_2",
                "payments.issue_refund",
            },
        ),
        ("class=act", {"payments.issue_refund"}),
        ("mode=destructive", {"payments.issue_refund"}),
        ("mode=network", set()),
        ("adapter=adp_payments", {"payments.issue_refund"}),
        ("adapter=adp_pay", set()),
        ("environment=staging", {"orders.lookup"}),
        (
            "domain=orders&environment=production",
            {"orders.lookup_0", "orders.lookup_1", "orders.lookup_2"},
        ),
        ("intent=support.refund&environment=staging", {"orders.lookup"}),
        ("intent=support", set()),
        ("intent=SUPPORT.REFUND", set()),
        ("intent=support.refund%22", set()),
        ("q=refund", {"payments.issue_refund"}),
        ("q=SETTLED%20transaction", {"payments.issue_refund"}),
        ("q=lookup_1", {"orders.lookup_1"}),
        ("q=%25", set()),
        ("class=observe&mode=read_only&environment=staging&q=order", {"orders.lookup"}),
    ],
)
def test_the_catalogue_is_filtered(
    catalogue: House, reader: Caller, query: str, expected: set[str]
) -> None:
    assert set(ids(reader.get(f"capabilities?{query}"))) == expected


@pytest.mark.proves("B8")
def test_an_intent_with_letters_beyond_ascii_is_found(house: House, reader: Caller) -> None:
    manifest = orders()
    manifest["capabilities"][0]["intents"] = ["soporte.devolución"]
    house.published(manifest)
    assert ids(reader.get("capabilities?intent=soporte.devoluci%C3%B3n")) == ["orders.lookup"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("capabilities?mode=root", 422, "validation.failed"),
        ("capabilities?class=anything", 422, "validation.failed"),
        ("capabilities?colour=red", 400, "request.invalid"),
        ("capabilities?limit=0", 400, "request.invalid"),
        ("capabilities?cursor=forged", 400, "cursor.invalid"),
        ("adapters?environment=moon", 422, "validation.failed"),
        ("kill-switches?state=maybe", 422, "validation.failed"),
        ("kill-switches?state=", 422, "validation.failed"),
        ("capabilities?mode=", 422, "validation.failed"),
        ("capabilities?q=%00", 422, "validation.failed"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    reader: Caller, path: str, status: int, code: str
) -> None:
    assert code_of(reader.get(path)) == (status, code)


def test_a_capability_is_shown_with_its_contract_and_what_stops_it(
    catalogue: House, reader: Caller
) -> None:
    body = {"scope": "adapter", "id": "adp_payments", "reason": "Books twice."}
    caller(catalogue, "operator").post("kill-switches", body)
    shown = reader.get("capabilities?adapter=adp_payments").json()["results"][0]
    assert shown["requires_approval_gate"] == "GATE_FINANCE_APPROVAL"
    assert shown["requires_idempotency_key"] is True
    assert (shown["adapter_id"], shown["version"]) == ("adp_payments", "1.0.0")
    assert shown["stopped"] == "Books twice."
    assert reader.get("capabilities?q=lookup_0").json()["results"][0]["stopped"] is None


def test_drafts_are_in_no_catalogue(house: House, reader: Caller) -> None:
    house.approved(orders())
    assert ids(reader.get("capabilities")) == []


def walk(reader: Caller, path: str, member: str, limit: int) -> list[str]:
    """Follow the cursor to the end."""
    found: list[str] = []
    separator = "&" if "?" in path else "?"
    page = reader.get(f"{path}{separator}limit={limit}")
    while True:
        found += ids(page, member)
        cursor = page.json()["next"]
        if cursor is None:
            return found
        page = reader.get(f"{path}{separator}limit={limit}&cursor={cursor}")


def test_pages_hold_every_row_once(house: House, reader: Caller) -> None:
    house.published(many(23))
    assert walk(reader, "capabilities", "capability_id", 5) == sorted(
        f"orders.lookup_{n}" for n in range(23)
    )
    for _ in range(6):
        house.draft(orders())
    numbers = walk(reader, versions(), "version", 2)
    assert numbers == [f"1.{n}.0" for n in range(6, -1, -1)]


def test_a_page_is_not_disturbed_by_what_arrives_meanwhile(house: House, reader: Caller) -> None:
    for _ in range(4):
        house.draft(orders())
    first = reader.get(f"{versions()}?limit=2").json()
    house.draft(orders())
    rest = reader.get(f"{versions()}?limit=9&cursor={first['next']}")
    assert ids(rest, "version") == ["1.1.0", "1.0.0"]


def test_versions_are_filtered_by_state_and_environment(house: House, reader: Caller) -> None:
    house.published(orders())
    house.in_review(orders())
    house.draft(orders(environment="staging"))
    assert ids(reader.get(f"{versions()}?state=in_review"), "version") == ["1.1.0"]
    assert ids(reader.get(f"{versions()}?environment=staging"), "version") == ["1.2.0"]
    summary = reader.get(f"{versions()}?state=published").json()["results"][0]
    assert "manifest" not in summary
    assert summary["findings_summary"] == {"block": 0, "warn": 0, "info": 1}


def test_adapters_are_found_by_text_and_by_where_they_are_published(
    catalogue: House, reader: Caller
) -> None:
    catalogue.draft(orders(adapter_id="adp_draft", name="Draft only"))
    assert ids(reader.get("adapters"), "adapter_id") == ["adp_draft", "adp_orders", "adp_payments"]
    assert ids(reader.get("adapters?q=PAYM"), "adapter_id") == ["adp_payments"]
    assert ids(reader.get("adapters?environment=staging"), "adapter_id") == ["adp_orders"]
    active = reader.get("adapters/adp_orders").json()["active"]
    assert [item["environment"] for item in active] == ["production", "staging"]


def _statements(reader: Caller, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as taken:
        assert reader.get(path).status_code == 200
    return len(taken)


def test_lists_take_the_same_statements_whatever_their_length(house: House, reader: Caller) -> None:
    house.published(orders(adapter_id="adp_0", capabilities=_named(0)))
    operator = caller(house, "operator")
    operator.post("kill-switches", {"scope": "adapter", "id": "adp_0", "reason": "Stop."})
    paths = ["adapters", versions("adp_0"), "capabilities", "kill-switches"]
    short = {path: _statements(reader, path) for path in paths}
    for number in range(1, 5):
        house.published(orders(adapter_id=f"adp_{number}", capabilities=_named(number)))
        house.draft(orders(adapter_id="adp_0"))
        body = {"scope": "adapter", "id": f"adp_{number}", "reason": "Stop."}
        operator.post("kill-switches", body)
    assert {path: _statements(reader, path) for path in paths} == short
    assert max(short.values()) <= 5


def test_one_version_is_read_with_few_statements(house: House, reader: Caller) -> None:
    version = house.published(refunds())
    assert _statements(reader, version_path(version)) <= 8


@pytest.mark.slow
def test_ten_thousand_capabilities_are_paged_quickly(house: House, reader: Caller) -> None:
    import time

    version = house.draft(orders())
    Capability.objects.bulk_create(
        Capability(
            version=version,
            tenant_id=house.tenant_id,
            environment="production",
            capability_id=f"bulk.operation_{number:05}",
            capability_class="observe",
            approval_mode="read_only",
            description=f"Bulk operation {number}.",
            pointer=f"/capabilities/{number}",
            is_active=True,
        )
        for number in range(10_000)
    )
    timings = []
    for query in ("limit=100", "q=operation_09&limit=100", "mode=read_only&limit=100") * 5:
        start = time.process_time()
        assert reader.get(f"capabilities?{query}").status_code == 200
        timings.append(time.process_time() - start)
    assert sorted(timings)[-2] < 0.3


def _named(number: int) -> list[dict[str, Any]]:
    return [{**orders()["capabilities"][0], "capability_id": f"orders.lookup_{number}"}]
