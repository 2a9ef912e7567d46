"""Packs and policies by REST: their whole life, their answers, and what a bundle would decide."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings
from pytest_django import DjangoAssertNumQueries

from registry.recorded_inputs import RecordedInput
from tests.recorded_worlds import ready
from tests.registry.api.calls import caller, code_of
from tests.registry.api.document_endpoints import PACKS, POLICIES, Kind
from tests.registry.documents import bundle, failing_bundle, pack, refund_input
from tests.registry.furnished import house_or
from tests.registry.house import House, staffed
from tests.registry.manifests import refunds
from tests.registry.walks import pack_walk, policy_walk


def recorded_two(tenant_id: str, count: int) -> list[RecordedInput]:
    """Stands for the gateway: two refunds of the past."""
    run = {"run": {"tenant_id": tenant_id}}
    return [
        RecordedInput("dec_2", "2026-05-04T09:31:00Z", refund_input(300, **run)),
        RecordedInput("dec_1", "2026-05-04T09:30:00Z", refund_input(60000, **run)),
    ][:count]


PROVIDER = f"{__name__}.recorded_two"


@pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
def test_a_document_walks_from_draft_to_retirement(house: House, kind: Kind) -> None:
    author, reviewer = caller(house, "author"), caller(house, "reviewer")
    admin = caller(house, "admin")
    made = author.post(kind.address, kind.make())
    assert made.status_code == 201
    path = made["Location"].removeprefix("/api/v1/")
    assert author.get(path).json()["state"] == "draft"
    assert author.post(f"{path}/submit").json()["state"] == "in_review"
    ticked = [item["id"] for item in author.get(path).json()["findings"]]
    body = {"reason": "Sound.", "accepted_warnings": ticked}
    assert reviewer.post(f"{path}/approve", body).json()["state"] == "approved"
    published = admin.post(f"{path}/publish", {"rollout_notes": "Watched."}).json()
    assert (published["state"], published["signature_valid"]) == ("published", True)
    assert published["document"] == kind.make()
    (head,) = author.get(kind.address).json()["results"]
    assert head["active"] == head["latest"]
    assert admin.post(f"{path}/retire", {"reason": "Over."}).json()["state"] == "retired"
    assert author.get(kind.address).json()["results"][0]["active"] is None


@pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
def test_an_edit_over_somebody_elses_is_refused_by_its_etag(house: House, kind: Kind) -> None:
    author = caller(house, "author")
    path = author.post(kind.address, kind.make())["Location"].removeprefix("/api/v1/")
    shown = author.get(path)["ETag"]
    assert author.put(path, kind.make(owner_role="a"), If_Match=shown).status_code == 200
    late = author.put(path, kind.make(owner_role="b"), If_Match=shown)
    assert code_of(late) == (412, "document.changed_meanwhile")


@pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
def test_a_document_is_sent_to_its_own_address(house: House, kind: Kind) -> None:
    response = caller(house, "author").post(f"{kind.address}/another/versions", kind.make())
    assert code_of(response) == (422, "document.id_mismatch")


@pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b"[]", 400), (b'{"a": 1, "a": 2}', 400), (b"{}", 422)]
)
def test_a_body_that_is_no_document_is_refused(
    house: House, kind: Kind, body: bytes, status: int
) -> None:
    assert caller(house, "author").post(kind.address, body).status_code == status


def test_a_version_is_found_by_number_and_only_under_its_own_id(house: House) -> None:
    version = pack_walk(house).draft(pack())
    pack_walk(house).draft(pack(pack_id="other"))
    reader = caller(house, "auditor")
    found = reader.get("packs/support_refund/versions/1.0.0").json()
    assert found["version_id"] == version.pk
    wrong = reader.get(f"packs/other/versions/{version.pk}")
    assert code_of(wrong) == (404, "request.not_found")


def test_packs_are_found_by_exact_intent(house: House) -> None:
    pack_walk(house).draft(pack())
    reader = caller(house, "auditor")
    assert len(reader.get("packs?intent=support.refund").json()["results"]) == 1
    assert reader.get("packs?intent=support").json()["results"] == []


def test_the_list_of_documents_takes_the_same_statements_for_one_and_for_many(
    house: House, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    walk = policy_walk(house)
    for number in range(8):
        walk.draft(bundle(bundle_id=f"bundle_{number}"))
        walk.draft(bundle(bundle_id=f"bundle_{number}", version="2.0.0"))
    reader = caller(house, "auditor")
    reader.get("policies")
    with django_assert_max_num_queries(8):
        listed = reader.get("policies").json()["results"]
    assert [row["latest"]["version"] for row in listed] == ["2.0.0"] * 8


# --- policies ------------------------------------------------------------------------------------
@pytest.mark.proves("C4")
def test_a_draft_shows_how_its_own_tests_came_out(house: House) -> None:
    version = policy_walk(house).draft(failing_bundle())
    shown = caller(house, "author").get(POLICIES.path(version)).json()
    (result,) = shown["test_results"]
    assert (result["name"], result["passed"]) == ("a large refund is denied", False)
    assert "expected true" in result["differences"][0]
    response = caller(house, "author").post(POLICIES.path(version, "submit"))
    assert code_of(response) == (422, "review.blocked_by_findings")


def test_a_bundle_that_can_not_be_compiled_shows_no_test_results(house: House) -> None:
    version = policy_walk(house).draft(bundle(rules=[{"rule_id": "r"}]))
    assert caller(house, "author").get(POLICIES.path(version)).json()["test_results"] is None


def test_a_bundle_is_published_in_shadow_and_then_to_decide(house: House) -> None:
    version = policy_walk(house).approved(bundle())
    admin, path = caller(house, "admin"), POLICIES.path(version, "publish")
    assert admin.post(path, {"shadow": "true"}).status_code == 422
    watching = admin.post(path, {"shadow": True}).json()
    assert (watching["state"], watching["shadow"]) == ("published", True)
    deciding = admin.post(path).json()
    assert (deciding["state"], deciding["shadow"]) == ("published", False)


# --- simulation ----------------------------------------------------------------------------------
def _simulate(house: House, **body: Any) -> Any:
    return caller(house, "author").post("policies/simulate", body)


def _governed() -> House:
    """A tenant with a published policy."""
    house = ready(staffed)
    house.published(refunds())
    policy_walk(house).published(bundle())
    return house


house, governed = house_or("governed", _governed)


@pytest.mark.proves("C4")
def test_a_draft_is_compared_with_what_is_published(governed: House) -> None:
    changed = bundle(version="1.1.0")
    changed["rules"][0]["then"] = {"allow": False}
    answer = _simulate(governed, bundle=changed, input=refund_input(500)).json()
    (result,) = answer["results"]
    assert result["published"]["allowed"] is True
    assert result["published"]["effective_approval_mode"] == "delegated"
    assert result["candidate"]["allowed"] is False
    assert answer["decision"] == result["candidate"]
    assert (answer["bundle_ref"], answer["total"], answer["changed"]) == ("refunds@1.1.0", 1, 1)
    named = {item["member"] for item in result["differences"]}
    assert {"allowed", "reason", "effective_approval_mode"} <= named


def test_a_stored_draft_is_simulated_by_its_ref(governed: House) -> None:
    draft = policy_walk(governed).draft(bundle(version="1.1.0"))
    for ref in ("refunds@1.1.0", draft.pk):
        answer = _simulate(governed, bundle_ref=ref, input=refund_input()).json()
        assert (answer["changed"], answer["results"][0]["differences"]) == (0, [])


def test_simulation_leaves_no_trace(governed: House) -> None:
    from tests.registry.services.test_no_record_no_change import _all_rows

    governed.token("author")  # issuing one is an event of its own
    before = _all_rows()
    _simulate(governed, bundle=bundle(version="9.0.0"), input=refund_input())
    assert _all_rows() == before


def test_a_policy_can_lower_the_mode_but_never_raise_it(governed: House) -> None:
    raising = bundle(version="1.1.0")
    raising["rules"][0]["then"] = {"allow": True, "approval_mode": "destructive"}
    document = refund_input(500)
    document["capability"]["approval_mode"] = "delegated"
    (result,) = _simulate(governed, bundle=raising, input=document).json()["results"]
    assert result["candidate"]["effective_approval_mode"] == "delegated"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": {}},
        {"bundle_ref": "refunds@1.0.0"},
        {"bundle_ref": "refunds@1.0.0", "bundle": {}, "input": {}},
        {"bundle_ref": "refunds@1.0.0", "input": {}, "last_n": 3},
        {"bundle_ref": "refunds@1.0.0", "last_n": 0},
        {"bundle_ref": "refunds@1.0.0", "input": [], "more": 1},
    ],
)
def test_a_question_that_is_not_one_question_is_refused(
    governed: House, body: dict[str, Any]
) -> None:
    assert _simulate(governed, **body).status_code == 422


def test_faults_of_bundle_and_input_are_named_at_their_place(governed: House) -> None:
    broken = bundle(version="1.1.0")
    broken["rules"][0]["if"] = {"log": "x"}
    refused = _simulate(governed, bundle=broken, input=refund_input())
    assert code_of(refused) == (422, "policy_bundle.invalid")
    assert refused.json()["details"]["problems"][0]["pointer"] == "/rules/0/if/log"
    refused = _simulate(governed, bundle=bundle(), input={"capability": 7})
    assert code_of(refused) == (422, "policy_input.invalid")


def test_another_tenants_bundle_can_not_be_asked(governed: House, neighbour: House) -> None:
    refused = _simulate(neighbour, bundle_ref="refunds@1.0.0", input=refund_input())
    assert code_of(refused) == (404, "request.not_found")


def test_without_recorded_calls_last_n_says_so(governed: House) -> None:
    refused = _simulate(governed, bundle_ref="refunds@1.0.0", last_n=5)
    assert code_of(refused) == (409, "policy.no_recorded_calls")


@override_settings(CONTEXTOS_POLICY_INPUTS_PROVIDER=PROVIDER)
def test_the_last_calls_are_decided_again(governed: House) -> None:
    stricter = bundle(version="1.1.0")
    stricter["rules"][0]["then"] = {"allow": False}
    answer = _simulate(governed, bundle=stricter, last_n=2).json()
    assert (answer["total"], answer["changed"], answer["decision"]) == (2, 1, None)
    assert [row["decision_id"] for row in answer["results"]] == ["dec_2", "dec_1"]
    assert answer["results"][1]["differences"] == []
