"""The log over REST: checkpoints and proofs that a stranger can check, for one tenant only."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from audit import merkle, proofs
from audit.checkpoint_note import read_checkpoint, signer_of
from audit.decision_record import DecisionStatus
from audit.decisions import record_decision, rows_of
from audit.models import DecisionRow
from audit.sealer import Sealer
from contextos.core.canonical import canonicalise
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from contextos.identity.models import Tenant
from tests.audit.logs import facts, write_records
from tests.factories import make_agent, make_agent_token, make_member, make_tenant, make_user_token

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


@pytest.fixture(autouse=True)
def own_folders(settings: Any, tmp_path: Path) -> None:
    settings.CHECKPOINTS_DIR = tmp_path / "checkpoints"
    settings.KEYS_DIR = tmp_path / "keys"


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant("tenant_one")


def caller(tenant: Tenant, role: str = "auditor") -> Any:
    token = make_user_token(make_member(tenant, role), tenant).token
    return _asking(token)


def agent_caller(tenant: Tenant, agent_id: str) -> Any:
    return _asking(make_agent_token(make_agent(tenant, agent_id=agent_id)).token)


def _asking(token: str) -> Any:
    def ask(path: str, **more: str) -> Any:
        headers = {"Authorization": f"Bearer {token}", **more}
        return Client().get(f"/api/v1/{path}", headers=headers)

    return ask


def hashes(answer: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(each) for each in answer["hashes"]]


def seal() -> None:
    Sealer().round()


def test_the_checkpoint_is_plain_text_signed_by_a_published_key(tenant: Tenant) -> None:
    ask = caller(tenant)
    write_records(2, tenant.pk)
    seal()
    for accepted in ("*/*", "text/plain", "application/json"):
        answer = ask("log/checkpoint", Accept=accepted)
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/plain; charset=utf-8"
    note = read_checkpoint(answer.content.decode())
    assert signer_of(note, key_store().verification_keys(KeyPurpose.LOG))
    assert note.origin.endswith("/log/tenant_one")
    assert answer["Cache-Control"] == "private, no-store"


def test_before_the_first_seal_there_is_no_checkpoint(tenant: Tenant) -> None:
    answer = caller(tenant)("log/checkpoint")
    assert (answer.status_code, answer.json()["code"]) == (404, "log.not_sealed")
    assert answer["Content-Type"] == "application/problem+json"


def test_the_rows_of_a_decision_are_proved_against_the_checkpoint(tenant: Tenant) -> None:
    ask = caller(tenant)
    first = facts(tenant.pk, status=DecisionStatus.APPROVED)
    record_decision(first)
    write_records(5, tenant.pk)
    record_decision(replace(first, seq=2, status=DecisionStatus.EXECUTED))
    seal()
    proved = ask(f"decision-records/{first.decision_id}/proof").json()["results"]
    rows = rows_of(tenant_id=tenant.pk, decision_id=first.decision_id)
    assert [proof["seq"] for proof in proved] == [1, 2]
    for proof, record in zip(proved, rows, strict=True):
        assert set(proof) == {"seq", "log_index", "tree_size", "hashes", "checkpoint"}
        note = read_checkpoint(proof["checkpoint"])
        assert proof["tree_size"] == note.tree_size
        assert merkle.verify_inclusion(
            leaf=merkle.leaf_hash(canonicalise(record)),
            index=proof["log_index"],
            size=proof["tree_size"],
            proof=hashes(proof),
            root=note.root_hash,
        )


def test_inclusion_and_consistency_hold_between_two_checkpoints(tenant: Tenant) -> None:
    ask = caller(tenant, "operator")
    notes = []
    for _ in range(2):
        write_records(3, tenant.pk)
        seal()
        notes.append(read_checkpoint(ask("log/checkpoint").content.decode()))
    older, newer = notes
    proof = ask(f"log/consistency?from={older.tree_size}&to={newer.tree_size}").json()
    assert merkle.verify_consistency(
        first=older.tree_size,
        second=newer.tree_size,
        proof=hashes(proof),
        first_root=older.root_hash,
        second_root=newer.root_hash,
    )
    assert proof["from_root"] == base64.b64encode(older.root_hash).decode()
    included = ask(f"log/inclusion?index=2&size={newer.tree_size}").json()
    assert included == ask("log/inclusion?index=2").json()  # the newest size is the default
    assert merkle.verify_inclusion(
        leaf=base64.b64decode(included["leaf_hash"]),
        index=2,
        size=newer.tree_size,
        proof=hashes(included),
        root=newer.root_hash,
    )


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("log/inclusion", 400, "request.invalid"),
        ("log/inclusion?index=", 400, "request.invalid"),
        ("log/inclusion?index=-1", 400, "request.invalid"),
        ("log/inclusion?index=1.5", 400, "request.invalid"),
        ("log/inclusion?index=٣", 400, "request.invalid"),
        ("log/inclusion?index=0&index=1", 400, "request.invalid"),
        ("log/inclusion?index=1e3&size=4", 400, "request.invalid"),
        ("log/inclusion?index=0&wrong=1", 400, "request.invalid"),
        ("log/inclusion?index=9999999999999999999", 400, "request.invalid"),
        (
            "log/inclusion?index=999999999999999999&size=999999999999999999",
            400,
            "log.range_invalid",
        ),
        ("log/inclusion?index=0&size=999999999999999999", 404, "log.not_sealed"),
        ("log/inclusion?index=5&size=3", 400, "log.range_invalid"),
        ("log/inclusion?index=0&size=0", 400, "log.range_invalid"),
        ("log/consistency?from=1&to=0", 400, "log.range_invalid"),
        ("log/consistency?from=0&to=2", 400, "log.range_invalid"),
        ("log/consistency?from=3&to=2", 400, "log.range_invalid"),
        ("log/consistency?from=1&to=999", 404, "log.not_sealed"),
        ("log/consistency?to=2", 400, "request.invalid"),
        ("log/checkpoint?size=2", 400, "request.invalid"),
        ("decision-records/dec_none/proof", 404, "records.unknown"),
        ("decision-records/%00/proof", 404, "request.not_found"),
    ],
)
def test_what_can_not_be_is_a_coded_refusal(
    tenant: Tenant, query: str, status: int, code: str
) -> None:
    write_records(3, tenant.pk)
    seal()
    answer = caller(tenant)(query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_rows_nobody_sealed_yet_are_to_be_asked_for_again(tenant: Tenant, monkeypatch: Any) -> None:
    monkeypatch.setattr(proofs, "PATIENCE_SECONDS", 0.05)
    write_records(1, tenant.pk)
    decision_id = DecisionRow.objects.get().decision_id
    answer = caller(tenant)(f"decision-records/{decision_id}/proof")
    assert (answer.status_code, answer.json()["code"]) == (409, "log.pending")
    assert answer["Retry-After"] == "1"


def test_who_asks_right_after_the_call_is_kept_until_it_is_sealed(
    tenant: Tenant, monkeypatch: Any
) -> None:
    write_records(1, tenant.pk)
    monkeypatch.setattr("audit.proofs.time.sleep", lambda _: seal())
    decision_id = DecisionRow.objects.get().decision_id
    answer = caller(tenant)(f"decision-records/{decision_id}/proof")
    assert [each["log_index"] for each in answer.json()["results"]] != []


# --- who may ask ---------------------------------------------------------------------------------
def test_nothing_is_answered_without_a_token(tenant: Tenant) -> None:
    for path in ("log/checkpoint", "log/inclusion?index=0", "log/keys"):
        assert Client().get(f"/api/v1/{path}").status_code == 401


def test_a_tenant_sees_its_own_log_alone(tenant: Tenant) -> None:
    other = make_tenant("tenant_two")
    ask = caller(other)
    write_records(3, tenant.pk)
    seal()
    decision_id = DecisionRow.objects.filter(tenant_id=tenant.pk)[0].decision_id
    assert ask(f"decision-records/{decision_id}/proof").status_code == 404
    mine = read_checkpoint(ask("log/checkpoint").content.decode())
    assert mine.origin.endswith("/log/tenant_two")


def test_an_agent_gets_proofs_of_its_own_decisions_alone(tenant: Tenant) -> None:
    write_records(1, tenant.pk)  # by agent_1
    seal()
    decision_id = DecisionRow.objects.get().decision_id
    path = f"decision-records/{decision_id}/proof"
    assert agent_caller(tenant, "agent_1")(path).status_code == 200
    assert agent_caller(tenant, "agent_2")(path).status_code == 404


def test_a_person_who_oversees_nothing_gets_no_proof_of_a_decision(tenant: Tenant) -> None:
    write_records(1, tenant.pk)
    seal()
    decision_id = DecisionRow.objects.get().decision_id
    answer = caller(tenant, "manifest_author")(f"decision-records/{decision_id}/proof")
    assert (answer.status_code, answer.json()["code"]) == (403, "role.missing")


# --- keys ----------------------------------------------------------------------------------------
def test_the_keys_of_the_log_are_told_with_their_state(tenant: Tenant) -> None:
    write_records(1, tenant.pk)
    seal()
    first = key_store().signer(KeyPurpose.LOG).verification_key
    key_store().rotate(KeyPurpose.LOG)
    answer = caller(tenant)("log/keys").json()
    assert {each["kid"]: each["state"] for each in answer["keys"]}[first.kid] == "retired"
    assert sorted(each["state"] for each in answer["keys"]) == ["active", "retired"]
    key_store().revoke(KeyPurpose.LOG, first.kid)
    told = caller(tenant)("log/keys").json()
    # Two keys of one millisecond stand in either order.
    told["keys"].sort(key=lambda each: each["kid"] != first.kid)
    assert [each["state"] for each in told["keys"]] == ["revoked", "active"]
    assert told["keys"][0]["kid"] == first.kid
    published = json.JSONDecoder().decode(Client().get("/.well-known/jwks.json").content.decode())
    assert first.kid not in {key["kid"] for key in published["keys"]}
    name, key_id, content = told["keys"][1]["vkey"].split("+", 2)
    assert (name, key_id) == (told["origin"], told["keys"][1]["key_id"])
    assert base64.b64decode(content)[0] == 1
