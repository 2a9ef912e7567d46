"""Evidence: minted with source, hash, class, freshness, size; required, overtaken, broken (C18)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.clearance import Clearance
from audit.erasure import request_erasure
from audit.matching import compare_value
from audit.models import DecisionMention, Payload
from audit.payloads import find_payload
from audit.selections import Selection
from gateway.evidence import EvidenceState, evidence_inputs, state_of, with_worth
from gateway.models import Evidence
from tests.factories import SYSTEM
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry import documents
from tests.registry.manifests import orders
from tests.registry.walks import pack_walk

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner"),
    pytest.mark.proves("C18"),
]
CALLS = "/api/v1/tool-calls"


@pytest.fixture
def world() -> GatewayWorld:
    return ready(GatewayWorld)


def _read(world: GatewayWorld, order_id: str = "ord_0001", **more: Any) -> dict[str, Any]:
    body = {
        "run_id": more.pop("run", None) or world.open_run()["run_id"],
        "capability_id": "orders.lookup",
        "args": {"order_id": order_id},
        **more,
    }
    return dict(world.post(CALLS, body).json())


def _minted(world: GatewayWorld, **how: Any) -> Evidence:
    return Evidence.objects.get(pk=_read(world, **how)["evidence_refs"][0])


def _state(row: Evidence) -> EvidenceState:
    return state_of(with_worth(Evidence.objects.filter(pk=row.pk)).get())


def _declared(world: GatewayWorld, **members: Any) -> None:
    """The same adapter, reviewed again with more said about its evidence."""
    manifest = orders(version="1.1.0")
    manifest["capabilities"][0] |= members
    world.house.published(manifest)


def test_a_reference_says_where_it_is_from_how_large_and_how_confidential(
    world: GatewayWorld,
) -> None:
    row = _minted(world)
    assert (row.source, row.keys, row.classification) == (
        "adp_orders@1.0.0",
        ["order_id"],
        "INTERNAL",
    )
    assert row.size_bytes == len('{"order_id":"ord_0001"}')
    assert row.commitment == Payload.objects.get(pk=row.payload_id).commitment
    assert (row.is_stored, row.fresh_until, _state(row)) == (True, None, EvidenceState.CURRENT)


def test_the_manifest_classifies_and_says_how_long_it_is_fresh(world: GatewayWorld) -> None:
    _declared(world, evidence_classification="CONFIDENTIAL", evidence_fresh_seconds=60)
    row = _minted(world)
    assert Clearance(row.classification) is Clearance.CONFIDENTIAL
    assert row.fresh_until == row.observed_at + timedelta(seconds=60)
    Evidence.objects.update(fresh_until=timezone.now() - timedelta(seconds=1))
    assert _state(row) is EvidenceState.STALE


@pytest.mark.parametrize(
    "declared",
    [{"evidence_storage": "committed"}, {"evidence_classification": "RESTRICTED"}],
)
def test_a_value_may_be_committed_to_without_being_kept(
    world: GatewayWorld, declared: dict[str, Any]
) -> None:
    _declared(world, **declared)
    answer = _read(world)
    row = Evidence.objects.get(pk=answer["evidence_refs"][0])
    assert not row.is_stored
    where = {"tenant_id": world.tenant_id, "decision_id": answer["decision_id"]}
    assert find_payload(**where, kind="evidence") is None
    how: dict[str, Any] = {
        "tenant_id": world.tenant_id,
        "payload_id": row.payload_id,
        "actor": SYSTEM,
    }
    assert compare_value(**how, value={"order_id": "ord_0001"})
    assert not compare_value(**how, value={"order_id": "ord_0002"})
    assert _state(row) is EvidenceState.CURRENT


def test_the_same_question_asked_again_supersedes_and_another_does_not(
    world: GatewayWorld,
) -> None:
    first, other = _minted(world), _minted(world, order_id="ord_0002")
    assert _state(first) is EvidenceState.CURRENT
    second = _minted(world)
    assert [_state(row) for row in (first, other, second)] == [
        EvidenceState.SUPERSEDED,
        EvidenceState.CURRENT,
        EvidenceState.CURRENT,
    ]
    assert "ord_0001" not in first.mark


def test_erased_evidence_is_broken_and_counts_for_nothing(world: GatewayWorld) -> None:
    answer = _read(world)
    ref = answer["evidence_refs"][0]
    row = Evidence.objects.get(pk=ref)
    before = evidence_inputs(world.tenant_id, [ref, "ev_unknown"], timezone.now())
    assert (before["refs"], before["keys"], before["broken"]) == ([ref], ["order_id"], [])
    assert before["sources"] == ["orders.lookup"]
    request_erasure(
        selection=Selection(tenant_id=world.tenant_id, decision_id=answer["decision_id"]),
        reason="Request 17.",
        actor=SYSTEM,
    )
    row.refresh_from_db()
    assert (_state(row), row.mark) == (EvidenceState.BROKEN, "")
    after = evidence_inputs(world.tenant_id, [ref], timezone.now())
    assert (after["refs"], after["keys"], after["broken"]) == ([], [], [ref])


def test_evidence_with_another_payload_behind_it_is_broken(world: GatewayWorld) -> None:
    first, second = _minted(world), _minted(world, order_id="ord_0002")
    Evidence.objects.filter(pk=first.pk).update(payload_id=second.payload_id)
    first.refresh_from_db()
    assert _state(first) is EvidenceState.BROKEN


def test_evidence_of_another_tenant_does_not_resolve(world: GatewayWorld) -> None:
    ref = _minted(world).pk
    assert evidence_inputs("tenant_other", [ref], timezone.now())["refs"] == []


# --- required ------------------------------------------------------------------------------------
def _pack_that_asks(*wanted: str) -> dict[str, Any]:
    pack = documents.pack(version="1.1.0")
    pack["tooling_layer"]["permissions"][0]["decision_binding"] = "decision.order_status"
    pack["decision_layer"] = {
        "decision_specs": [
            {
                "decision_key": "order_status",
                "version": "1.0.0",
                "owner_role": "support_platform",
                "required_evidence": list(wanted),
                "allowed_outcomes": ["known"],
            }
        ]
    }
    return pack


@pytest.mark.parametrize("wanted", ["order_id", "orders.lookup", "lookup"])
def test_a_decision_spec_refuses_a_call_without_its_evidence(
    world: GatewayWorld, wanted: str
) -> None:
    ref = _minted(world).pk
    pack_walk(world.house).published(_pack_that_asks(wanted))
    refused = _read(world)
    assert refused["error"]["code"] == "policy.obligation_unmet"
    assert f"requires evidence:{wanted}" in refused["error"]["message"]
    assert _read(world, evidence_refs=[ref])["status"] == "ok"


def test_broken_evidence_does_not_meet_a_decision_spec(world: GatewayWorld) -> None:
    ref = _minted(world).pk
    pack_walk(world.house).published(_pack_that_asks("order_id"))
    Payload.objects.filter(kind="evidence").update(sealed=None, erased_at=timezone.now())
    assert _read(world, evidence_refs=[ref])["error"]["code"] == "policy.obligation_unmet"


def test_a_decision_that_named_evidence_is_found_by_it(world: GatewayWorld) -> None:
    ref = _minted(world).pk
    _read(world, evidence_refs=[ref])
    assert DecisionMention.objects.filter(kind="evidence", value=ref).count() == 1
