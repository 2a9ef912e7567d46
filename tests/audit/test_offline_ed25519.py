"""The plain-Python check of signatures: the vectors of RFC 8032, and the library beside it."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.export.offline.ed25519 import ORDER, P, verify

# RFC 8032, section 7.1: public key, message, signature.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
            "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]


@pytest.mark.proves("E2")
@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard_hold(key: str, message: str, signature: str) -> None:
    public, said, signed = map(bytes.fromhex, (key, message, signature))
    assert verify(public, said, signed)
    assert not verify(public, said + b"x", signed)
    for place in range(0, 64, 7):
        changed = bytearray(signed)
        changed[place] ^= 1
        assert not verify(public, said, bytes(changed))


def test_a_second_signature_made_out_of_the_first_is_refused() -> None:
    key = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
    public, signed = key.public_key().public_bytes_raw(), key.sign(b"once")
    answer = int.from_bytes(signed[32:], "little")
    for more in (ORDER, 2 * ORDER, 8 * ORDER):
        malleable = signed[:32] + (answer + more).to_bytes(32, "little")
        assert not verify(public, b"once", malleable)
    assert verify(public, b"once", signed)


@pytest.mark.parametrize(
    "point",
    [
        P.to_bytes(32, "little"),  # zero, written as the modulus
        (P + 1).to_bytes(32, "little"),  # one, likewise
        b"\xff" * 32,
        (1 | 1 << 255).to_bytes(32, "little"),  # the neutral point with a sign it can't have
        (2).to_bytes(32, "little"),  # no point at all
    ],
)
def test_points_in_any_but_their_one_form_are_refused(point: bytes) -> None:
    key = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
    signed = key.sign(b"m")
    assert not verify(point, b"m", signed)
    assert not verify(key.public_key().public_bytes_raw(), b"m", point + signed[32:])


@pytest.mark.parametrize(("key", "signature"), [(31, 64), (33, 64), (32, 63), (32, 65), (0, 0)])
def test_other_lengths_are_refused(key: int, signature: int) -> None:
    assert not verify(b"\x01" * key, b"m", b"\x01" * signature)


@settings(max_examples=25)
@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200), flip=st.data())
def test_it_agrees_with_the_library(seed: bytes, message: bytes, flip: st.DataObject) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signed = key.public_key().public_bytes_raw(), bytearray(key.sign(message))
    assert verify(public, message, bytes(signed))
    signed[flip.draw(st.integers(0, 63))] ^= 1 << flip.draw(st.integers(0, 7))
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(bytes(signed), message)
        expected = True
    except InvalidSignature:
        expected = False
    assert verify(public, message, bytes(signed)) == expected
