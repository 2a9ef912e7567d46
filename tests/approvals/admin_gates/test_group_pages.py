"""Pages of approver groups: making them, people in and out, which gates they keep."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import ApproverGroup
from approvals.selectors import group_sizes
from tests.approvals.admin_gates.rows import make_group
from tests.approvals.admin_gates.visits import GateHouse, page, text_of
from tests.approvals.test_gates import stage
from tests.factories import make_member


@pytest.mark.parametrize(
    ("name", "status"),
    [("admin", 200), ("auditor", 200), ("operator", 200), ("author", 403), ("approver", 403)],
)
def test_who_sees_groups(house: GateHouse, name: str, status: int) -> None:
    visitor = house.browser(name)
    assert visitor.get(page("approvergroup_changelist")).status_code == status
    assert visitor.get(page("approvergroup_change", house.finance.pk)).status_code == status


def test_an_admin_makes_a_group_and_fills_it(house: GateHouse) -> None:
    admin = house.browser("admin")
    admin.post(page("approvergroup_add"), {"title": "Treasury", "name": "treasury"})
    group = ApproverGroup.objects.get(name="treasury")
    assert (group.tenant_id, group.title) == (house.tenant_id, "Treasury")
    who = {"person": house.keepers[0].user_id}
    admin.post(page("approvergroup_join", group.pk), who)
    assert group_sizes(house.tenant_id)["treasury"] == 1
    assert str(house.keepers[0]) in text_of(admin.get(page("approvergroup_change", group.pk)))
    admin.post(page("approvergroup_leave", group.pk), who)
    assert group_sizes(house.tenant_id)["treasury"] == 0


def test_a_name_that_is_taken_is_an_error_on_the_form(house: GateHouse) -> None:
    answer = house.browser("admin").post(
        page("approvergroup_add"), {"title": "Again", "name": "finance"}
    )
    assert answer.status_code == 200
    assert "finance exists already" in text_of(answer)


@pytest.mark.parametrize("name", ["auditor", "operator", "approver", "author", "reviewer"])
def test_nobody_else_moves_people(house: GateHouse, name: str) -> None:
    other = make_member(house.tenant, "finance_approver")
    visitor = house.browser(name)
    for button, who in (("join", other), ("leave", house.keepers[0])):
        answer = visitor.post(
            page(f"approvergroup_{button}", house.finance.pk), {"person": who.user_id}
        )
        assert answer.status_code == 403
    assert group_sizes(house.tenant_id)["finance"] == 2


@pytest.mark.proves("D3")
def test_an_admin_is_not_offered_themselves_and_can_not_join_by_a_crafted_post(
    house: GateHouse,
) -> None:
    from tests.factories import grant

    admin = house.user("admin")
    grant(admin, house.tenant, "finance_approver")
    visitor = house.browser("admin")
    shown = visitor.get(page("approvergroup_change", house.finance.pk))
    assert admin not in shown.context["candidates"]
    visitor.post(page("approvergroup_join", house.finance.pk), {"person": admin.user_id})
    assert group_sizes(house.tenant_id)["finance"] == 2


def test_people_of_other_tenants_are_neither_offered_nor_taken(
    house: GateHouse, neighbour: GateHouse
) -> None:
    admin, stranger = house.browser("admin"), neighbour.keepers[0]
    shown = admin.get(page("approvergroup_change", house.finance.pk))
    assert stranger not in shown.context["candidates"]
    admin.post(page("approvergroup_join", house.finance.pk), {"person": stranger.user_id})
    assert group_sizes(house.tenant_id)["finance"] == 2
    own = house.keepers[0]
    for button in ("join", "leave"):
        address = page(f"approvergroup_{button}", neighbour.finance.pk)
        assert admin.post(address, {"person": own.user_id}).status_code == 404
    assert group_sizes(neighbour.tenant_id)["finance"] == 2


def test_a_look_changes_nothing(house: GateHouse) -> None:
    admin = house.browser("admin")
    for button in ("join", "leave"):
        assert admin.get(page(f"approvergroup_{button}", house.finance.pk)).status_code == 404


def test_the_page_says_which_gates_name_it_and_who_can_not_vote(house: GateHouse) -> None:
    house.gate_published()
    house.gate_draft(gate_id="GATE_DRAFT", stages=[stage("money", quorum=2)])
    house.gate_draft(gate_id="GATE_NONSENSE", stages="x")
    house.finance.group.user_set.add(make_member(house.tenant, "operator"))
    answer = house.browser("auditor").get(page("approvergroup_change", house.finance.pk))
    assert [(line["gate"], line["in_force"]) for line in answer.context["gates"]] == [
        ("GATE_FINANCE_APPROVAL", True),
        ("GATE_DRAFT", False),
    ]
    assert "needs the role finance approver to vote" in text_of(answer)
    assert "Add to the group" not in text_of(answer)


def test_the_list_asks_as_much_for_many_groups_as_for_one(house: GateHouse) -> None:
    house.gate_published()
    visitor, counts = house.browser("admin"), []
    for more in (1, 10):
        for number in range(more):
            make_group(house.tenant, f"group-{more}-{number}")
        with CaptureQueriesContext(connection) as statements:
            answer = visitor.get(page("approvergroup_changelist"))
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert "GATE_FINANCE_APPROVAL" in text_of(answer)
