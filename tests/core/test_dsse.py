"""DSSE: type and payload bound together, keys counted once, key ids never believed."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core.dsse import VerifiedEnvelope, pae, sign_envelope, verify_envelope
from contextos.core.errors import ContextOSError
from contextos.core.signing import Ed25519Signer

TYPE = "application/vnd.contextos.manifest+json"
FIRST, SECOND, STRANGER = (Ed25519Signer.generate() for _ in range(3))
TRUSTED = [FIRST.verification_key, SECOND.verification_key]


def verified(envelope: Any, threshold: int = 1, payload_type: str = TYPE) -> VerifiedEnvelope:
    return verify_envelope(envelope, keys=TRUSTED, payload_type=payload_type, threshold=threshold)


def refused(envelope: Any, threshold: int = 1, payload_type: str = TYPE) -> str:
    with pytest.raises(ContextOSError) as caught:
        verified(envelope, threshold, payload_type)
    return caught.value.code


def signed(*signers: Ed25519Signer, payload: bytes = b"{}") -> dict[str, Any]:
    return sign_envelope(payload, payload_type=TYPE, signers=signers or (FIRST,))


def test_the_encoding_before_signing_matches_the_reference_vector() -> None:
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("http://example.com/HelloWorld", b"hello world") == expected


def test_lengths_count_bytes_and_not_characters() -> None:
    assert pae("é", b"") == b"DSSEv1 2 \xc3\xa9 0 "


@given(st.tuples(st.text(), st.binary()), st.tuples(st.text(), st.binary()))
def test_no_two_messages_are_encoded_alike(
    one: tuple[str, bytes], other: tuple[str, bytes]
) -> None:
    kinds = [kind.encode("utf-8", "ignore").decode() for kind in (one[0], other[0])]
    same = (kinds[0], one[1]) == (kinds[1], other[1])
    assert (pae(kinds[0], one[1]) == pae(kinds[1], other[1])) is same


@pytest.mark.proves("B2")
@given(st.binary(max_size=200))
def test_a_signed_payload_comes_back_as_it_was(payload: bytes) -> None:
    result = verified(signed(payload=payload))
    assert (result.payload, result.kids) == (payload, (FIRST.verification_key.kid,))


@pytest.mark.proves("B2")
@given(st.binary(min_size=1, max_size=50), st.data())
def test_no_changed_bit_of_the_payload_goes_unnoticed(payload: bytes, data: st.DataObject) -> None:
    changed = bytearray(payload)
    changed[data.draw(st.integers(0, len(payload) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    envelope = signed(payload=payload)
    envelope["payload"] = signed(payload=bytes(changed))["payload"]
    assert refused(envelope) == "signature.invalid"


def test_a_payload_signed_as_one_type_is_not_taken_for_another() -> None:
    assert refused(signed(), payload_type="application/vnd.contextos.pack+json") == (
        "signature.invalid"
    )
    relabelled = signed() | {"payloadType": "application/x"}
    assert refused(relabelled, payload_type="application/x") == "signature.invalid"


def test_the_key_id_decides_nothing() -> None:
    envelope = signed(FIRST)
    envelope["signatures"][0]["keyid"] = STRANGER.verification_key.kid
    assert verified(envelope).kids == (FIRST.verification_key.kid,)
    del envelope["signatures"][0]["keyid"]
    assert verified(envelope).payload == b"{}"
    forged = signed(STRANGER)
    forged["signatures"][0]["keyid"] = FIRST.verification_key.kid
    assert refused(forged) == "signature.invalid"


def test_a_threshold_counts_distinct_keys() -> None:
    assert len(verified(signed(FIRST, SECOND), threshold=2).kids) == 2
    twice = signed(FIRST, FIRST)
    twice["signatures"][1]["keyid"] = SECOND.verification_key.kid
    assert refused(twice, threshold=2) == "signature.invalid"
    assert refused(signed(FIRST, STRANGER), threshold=2) == "signature.invalid"


def test_without_trusted_keys_nothing_is_valid() -> None:
    with pytest.raises(ContextOSError):
        verify_envelope(signed(), keys=[], payload_type=TYPE)


def test_a_threshold_of_zero_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="threshold"):
        verified(signed(), threshold=0)


def test_an_envelope_without_signers_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="signer"):
        sign_envelope(b"", payload_type=TYPE, signers=[])


def test_both_base64_alphabets_are_read() -> None:
    envelope = signed(payload=b"\xfb\xff\xfe")
    assert "+" in envelope["payload"] or "/" in envelope["payload"]
    envelope["payload"] = envelope["payload"].replace("+", "-").replace("/", "_")
    assert verified(envelope).payload == b"\xfb\xff\xfe"


@pytest.mark.parametrize(
    "change",
    [
        {"payload": None},
        {"payload": "!!"},
        {"payloadType": 7},
        {"signatures": []},
        {"signatures": {}},
        {"signatures": ["x"]},
        {"signatures": [{}]},
        {"signatures": [{"sig": 5}]},
        {"signatures": [{"sig": "AAAA"}] * 17},
    ],
)
def test_a_malformed_envelope_is_a_coded_error(change: dict[str, Any]) -> None:
    assert refused(copy.deepcopy(signed()) | change) == "signature.malformed"


def test_an_envelope_with_a_member_missing_is_a_coded_error() -> None:
    assert refused({}) == "signature.malformed"
