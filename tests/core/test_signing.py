"""Signing keys: names that follow from the key, signatures that bind every byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextos.core import base64url
from contextos.core.errors import ContextOSError
from contextos.core.signing import Ed25519Signer, VerificationKey

# RFC 8037, appendix A: the public key and its thumbprint.
RFC_X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
RFC_KID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
SIGNER = Ed25519Signer.generate()


def test_the_kid_is_the_thumbprint_of_rfc_7638() -> None:
    assert VerificationKey(base64url.decode(RFC_X)).kid == RFC_KID


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_a_signature_holds_for_its_own_bytes_only(data: bytes, other: bytes) -> None:
    signature = SIGNER.sign(data)
    assert SIGNER.verification_key.verify(data, signature)
    assert SIGNER.verification_key.verify(other, signature) is (other == data)
    assert not Ed25519Signer.generate().verification_key.verify(data, signature)


@given(st.binary(max_size=80))
def test_no_rubbish_is_taken_for_a_signature(rubbish: bytes) -> None:
    assert not SIGNER.verification_key.verify(b"data", rubbish)


def test_a_key_survives_its_files() -> None:
    assert Ed25519Signer.from_pem(SIGNER.to_pem()).verification_key == SIGNER.verification_key
    assert VerificationKey.from_jwk(SIGNER.verification_key.jwk()) == SIGNER.verification_key


def test_the_public_form_holds_nothing_private() -> None:
    assert set(SIGNER.verification_key.jwk()) == {"kty", "crv", "x", "kid", "use", "alg"}
    assert repr(SIGNER) == f"<Ed25519Signer {SIGNER.verification_key.kid}>"


@pytest.mark.parametrize(
    "jwk",
    [
        None,
        {},
        {"kty": "OKP", "crv": "X25519", "x": RFC_X},
        {"kty": "OKP", "crv": "Ed25519", "x": "AAAA"},
        {"kty": "OKP", "crv": "Ed25519", "x": 7},
        {"kty": "OKP", "crv": "Ed25519", "x": RFC_X, "kid": "somebody-elses"},
        {"kty": "OKP", "crv": "Ed25519", "x": RFC_X + "="},
    ],
)
def test_a_jwk_that_is_not_what_it_says_is_refused(jwk: object) -> None:
    with pytest.raises(ContextOSError) as caught:
        VerificationKey.from_jwk(jwk)
    assert caught.value.code == "signing.key_invalid"


def test_a_file_that_is_no_ed25519_key_is_refused_without_being_shown() -> None:
    with pytest.raises(ContextOSError) as caught:
        Ed25519Signer.from_pem(b"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----")
    assert caught.value.code == "signing.key_invalid"
    assert "hunter2" not in str(caught.value)


@given(st.binary(max_size=50))
def test_base64url_has_one_spelling_per_value(data: bytes) -> None:
    assert base64url.decode(base64url.encode(data)) == data


@pytest.mark.parametrize("text", ["A", "AB==", "A+/A", "AB\n", "QUI_é", "QUJ"])
def test_every_other_spelling_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base64url"):
        base64url.decode(text)
