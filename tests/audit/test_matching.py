"""A value can be shown to match its commitment; without the salt nothing can be tried out (E6)."""

from __future__ import annotations

import hashlib
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.matching import compare_value, matches_with_salt, release_salt
from audit.models import AuditEvent, Payload
from audit.one_statement import write_together
from audit.payloads import seal_payload
from contextos.core.errors import ContextOSError
from contextos.identity.models import Tenant
from tests.factories import SYSTEM, make_member

pytestmark = pytest.mark.django_db
DECISION = "dec_00000000000000000000000001"


def _stored(tenant: Tenant, value: Any) -> Payload:
    sealed = seal_payload(tenant_id=tenant.pk, decision_id=DECISION, kind="args", value=value)
    write_together(sealed.write)
    return Payload.objects.get(pk=sealed.payload_id)


@pytest.mark.proves("E6")
def test_low_entropy_amounts_do_not_match_without_the_salt(acme: Tenant) -> None:
    row = _stored(acme, 4200)
    tried = (str(amount).encode() for amount in range(1, 50_001))
    guesses = {"sha256:" + hashlib.sha256(guess).hexdigest() for guess in tried}
    assert row.commitment not in guesses
    zero = bytes(32)
    salted = (zero + str(amount).encode() for amount in range(1, 50_001))
    assert row.commitment not in {"sha256:" + hashlib.sha256(g).hexdigest() for g in salted}


@pytest.mark.proves("E6")
def test_an_outsider_with_value_and_salt_finds_the_commitment_in_three_lines(acme: Tenant) -> None:
    value = {"amount_inr": 4200, "transaction_id": "txn_4200"}
    row = _stored(acme, value)
    released = release_salt(
        tenant_id=acme.pk, payload_id=row.pk, reason="For the customer.", actor=SYSTEM
    )
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found = hashlib.sha256(bytes.fromhex(released.salt) + text.encode()).hexdigest()
    assert f"sha256:{found}" == released.commitment == row.commitment
    event = AuditEvent.objects.get(action="payload.salt_released")
    assert released.salt not in event.text


@pytest.mark.proves("E6")
def test_the_same_value_has_another_commitment_each_time(acme: Tenant) -> None:
    assert _stored(acme, 4200).commitment != _stored(acme, 4200).commitment


def test_each_comparison_is_recorded_without_the_value(acme: Tenant) -> None:
    row = _stored(acme, {"amount_inr": 4200})
    where: dict[str, Any] = {"tenant_id": acme.pk, "payload_id": row.pk, "actor": SYSTEM}
    assert compare_value(**where, value={"amount_inr": 4200})
    assert not compare_value(**where, value={"amount_inr": 4201})
    events = AuditEvent.objects.filter(action="payload.compared").order_by("event_id")
    texts = list(events.values_list("text", flat=True))
    assert ['"matches":true' in text for text in texts] == [True, False]
    assert not any("amount" in text for text in texts)


def test_an_erased_value_and_a_foreign_one_have_no_salt_to_give(
    acme: Tenant, globex: Tenant
) -> None:
    row = _stored(acme, 4200)
    for tenant, code in ((globex, "payload.unknown"), (acme, "payload.erased")):
        if tenant is acme:
            Payload.objects.update(sealed=None, erased_at=row.created_at)
        with pytest.raises(ContextOSError) as refused:
            release_salt(tenant_id=tenant.pk, payload_id=row.pk, reason="x", actor=SYSTEM)
        assert refused.value.code == code


def test_a_salt_of_another_length_is_no_salt() -> None:
    with pytest.raises(ContextOSError) as refused:
        matches_with_salt(value=1, salt=b"short", commitment="sha256:0")
    assert refused.value.code == "payload.salt_malformed"


def _run(*words: str) -> str:
    out = StringIO()
    call_command("match_value", *words, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


def test_the_command_lists_releases_and_compares(acme: Tenant, tmp_path: Path) -> None:
    row = _stored(acme, {"amount_inr": 4200})
    auditor = make_member(acme, "auditor").username
    here = ("--tenant", acme.pk)
    assert row.commitment in _run(*here, "--decision", DECISION)
    given = (*here, "--payload", row.pk, "--by", auditor)
    salt = _run(*given, "--release-salt", "--reason", "For the customer.")
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    right.write_text('{ "amount_inr": 4200.0 }')
    wrong.write_text('{"amount_inr": 4201}')
    outside = ("--salt", salt, "--commitment", row.commitment)
    assert "matches" in _run(str(right), *outside)
    assert "matches" in _run(str(right), *given)
    for how in (outside, given):
        with pytest.raises(CommandError, match="does not match"):
            _run(str(wrong), *how)


def test_the_command_gives_no_salt_to_an_operator(acme: Tenant) -> None:
    row = _stored(acme, 1)
    operator = make_member(acme, "operator").username
    with pytest.raises(CommandError, match=r"role\.missing"):
        _run("--tenant", acme.pk, "--payload", row.pk, "--by", operator, "--release-salt")
    assert not AuditEvent.objects.filter(action="payload.salt_released").exists()
