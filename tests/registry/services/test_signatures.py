"""A version is believed only while a trusted key vouches for exactly its bytes, in its tenant."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from audit.models import Artefact
from contextos.core.canonical import canonicalise, digest_bytes
from contextos.core.dsse import sign_envelope
from contextos.core.errors import ContextOSError
from contextos.core.signing import Ed25519Signer, KeyPurpose
from contextos.identity.keyring import key_store
from contextos.review.signatures import type_for_tenant
from registry.models import AdapterVersion
from registry.selectors import PAYLOAD_TYPE, manifest_of, open_version, signed_manifest
from tests.putting_back import triggers_asleep
from tests.registry.house import House
from tests.registry.manifests import orders, refunds, wider
from tests.registry.offered import offered

Forge = Callable[[House, AdapterVersion], dict[str, Any]]


def _write_past_the_triggers(version: AdapterVersion, **columns: Any) -> None:
    """What somebody with the database's own password could do."""
    with triggers_asleep(connection):
        AdapterVersion.objects.filter(pk=version.pk).update(**columns)


def _envelope(payload: bytes, payload_type: str, signer: Any) -> dict[str, Any]:
    return sign_envelope(payload, payload_type=payload_type, signers=[signer])


def _wide_manifest(version: AdapterVersion) -> bytes:
    return canonicalise({**signed_manifest(version), "owner_role": "attackers"})


def _changed_payload(house: House, version: AdapterVersion) -> dict[str, Any]:
    payload = _wide_manifest(version)
    forged = copy.deepcopy(dict(version.envelope or {}))
    forged["payload"] = base64.b64encode(payload).decode()
    return {"envelope": forged, "digest": digest_bytes(payload)}


def _signed_by_a_stranger(house: House, version: AdapterVersion) -> dict[str, Any]:
    payload = _wide_manifest(version)
    kind = type_for_tenant(PAYLOAD_TYPE, house.tenant_id)
    return {
        "envelope": _envelope(payload, kind, Ed25519Signer.generate()),
        "digest": digest_bytes(payload),
    }


def _signed_by_the_key_for_tokens(house: House, version: AdapterVersion) -> dict[str, Any]:
    signer = key_store().ensure(KeyPurpose.TOKENS)
    payload = _wide_manifest(version)
    kind = type_for_tenant(PAYLOAD_TYPE, house.tenant_id)
    return {"envelope": _envelope(payload, kind, signer), "digest": digest_bytes(payload)}


def _of_another_tenant(house: House, version: AdapterVersion) -> dict[str, Any]:
    other = House().published(orders(owner_role="neighbours"))
    return {"envelope": other.envelope, "digest": other.digest}


def _of_another_version(house: House, version: AdapterVersion) -> dict[str, Any]:
    other = house.published(wider(environment="staging"))
    return {"envelope": other.envelope, "digest": other.digest}


def _other_digest(house: House, version: AdapterVersion) -> dict[str, Any]:
    return {"digest": "sha256:" + "0" * 64}


def _empty_envelope(house: House, version: AdapterVersion) -> dict[str, Any]:
    return {"envelope": {"payload": "", "payloadType": PAYLOAD_TYPE, "signatures": []}}


FORGERIES: dict[str, Forge] = {
    "changed payload": _changed_payload,
    "signed by a stranger": _signed_by_a_stranger,
    "signed by our key for tokens": _signed_by_the_key_for_tokens,
    "another tenant's": _of_another_tenant,
    "another version's": _of_another_version,
    "digest of something else": _other_digest,
    "no signature in it": _empty_envelope,
}


@pytest.mark.proves("B2")
def test_publication_signs_the_very_document_that_was_approved(house: House) -> None:
    approved = house.approved(orders())
    version = house.publish(approved)
    assert version.envelope is not None
    payload = base64.b64decode(version.envelope["payload"])
    assert digest_bytes(payload) == approved.digest == version.digest
    signature = version.signatures.get()
    active = key_store().signer(KeyPurpose.MANIFESTS).verification_key.kid
    assert signature.kid == active
    assert signature.signed_by == house.user("admin").user_id
    assert signed_manifest(version)["capabilities"][0]["capability_id"] == "orders.lookup"


@pytest.mark.proves("B2")
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_version_is_refused_on_every_load(house: House, forgery: str) -> None:
    version = house.published(orders())
    bystander = house.published(refunds())
    _write_past_the_triggers(version, **FORGERIES[forgery](house, version))
    forged = house.fresh(version)
    for load in (signed_manifest, manifest_of):
        with pytest.raises(ContextOSError) as refusal:
            load(forged)
        assert refusal.value.code in {"signature.invalid", "signature.malformed"}
    opened = open_version(forged)
    assert (opened.document, opened.signature_valid) == (None, False)
    assert opened.problem
    offers = offered(house.tenant_id)
    assert {name for name, offer in offers.items() if not offer.refusal} == {
        "payments.issue_refund"
    }
    assert offers["payments.issue_refund"].capability.version_id == bystander.version_id
    refused = offers["orders.lookup"].refusal
    assert refused is not None
    assert (refused.code, opened.problem in refused.message) == ("pin.revoked", True)


@pytest.mark.proves("B2")
def test_a_tampered_artefact_can_be_neither_reviewed_nor_published(house: House) -> None:
    version = house.approved(orders())
    with triggers_asleep(connection):
        Artefact.objects.filter(digest=version.digest).update(content=b"{}")
    with pytest.raises(ContextOSError) as refusal:
        house.publish(version)
    assert refusal.value.code == "artefact.tampered"
    assert house.fresh(version).state == "approved"
    assert open_version(house.fresh(version)).problem


@pytest.mark.proves("B2", "B17")
def test_a_rollback_checks_the_old_signature_first(house: House) -> None:
    first = house.published(orders())
    house.published(orders())
    _write_past_the_triggers(first, **_changed_payload(house, first))
    with pytest.raises(ContextOSError) as refusal:
        house.publish(first)
    assert refusal.value.code == "signature.invalid"
    assert house.fresh(first).state == "deprecated"


@pytest.mark.proves("B2")
def test_a_signature_outlives_the_rotation_of_its_key(house: House) -> None:
    first = house.published(orders())
    key_store().rotate(KeyPurpose.MANIFESTS)
    second = house.published(orders())
    assert signed_manifest(house.fresh(first))
    kids = {version.signatures.get().kid for version in (first, second)}
    assert len(kids) == 2


def test_the_database_has_no_published_version_without_a_signature(house: House) -> None:
    version = house.approved(orders())
    from django.db import IntegrityError, transaction

    with pytest.raises(IntegrityError), transaction.atomic():
        AdapterVersion.objects.filter(pk=version.pk).update(state="published")
