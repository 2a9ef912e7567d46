"""Tokens: nothing gets in that is forged, stale, meant for others, or oddly spelt."""

import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, KeySet, OctKey, OKPKey, RSAKey

from contextos.core import base64url, strict_json
from contextos.core.errors import ContextOSError, ErrorKind
from contextos.core.signing import Ed25519Signer
from contextos.core.tokens import key_set, peek_token, sign_token, verify_token

ISSUER, AUDIENCE = "https://issuer.example", "https://contextos.example"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIGNER = Ed25519Signer.generate()
KEYS = key_set({"keys": [SIGNER.verification_key.jwk()]})
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "sub": "agent:support",
    "aud": AUDIENCE,
    "exp": int(NOW.timestamp()) + 600,
    "iat": int(NOW.timestamp()),
    "jti": "tok_1",
}


def verify(token: str, keys: KeySet = KEYS, **options: Any) -> Any:
    return verify_token(token, keys=keys, **{**standard_options(), **options})


def standard_options() -> dict[str, Any]:
    return {"issuer": ISSUER, "audience": AUDIENCE, "now": NOW}


def code_of(token: str, keys: KeySet = KEYS, **options: Any) -> str:
    with pytest.raises(ContextOSError) as caught:
        verify(token, keys, **options)
    assert caught.value.kind is ErrorKind.AUTH
    assert not any(len(part) > 8 and part in repr(vars(caught.value)) for part in token.split("."))
    return caught.value.code


def signed(**changes: Any) -> str:
    return sign_token(CLAIMS | changes, signer=SIGNER)


def raw_token(header: str | dict[str, Any], claims: str | dict[str, Any]) -> str:
    """A correctly signed token over any header and claims, however odd."""
    parts = [
        part if isinstance(part, str) else strict_json.dumps(part) for part in (header, claims)
    ]
    content = ".".join(base64url.encode(part.encode()) for part in parts)
    return f"{content}.{base64url.encode(SIGNER.sign(content.encode()))}"


def header(**changes: Any) -> dict[str, Any]:
    return {"alg": "EdDSA", "kid": SIGNER.verification_key.kid, "typ": "JWT"} | changes


def without(claim: str) -> dict[str, Any]:
    return {name: value for name, value in CLAIMS.items() if name != claim}


@pytest.mark.proves("C6")
def test_a_good_token_gives_its_content() -> None:
    token = verify(signed(tenant="tenant_acme_prod"))
    assert (token.issuer, token.subject, token.token_id) == (ISSUER, "agent:support", "tok_1")
    assert token.claims["tenant"] == "tenant_acme_prod"
    assert token.header["kid"] == SIGNER.verification_key.kid
    assert token.expires_at == NOW + timedelta(seconds=600)
    with pytest.raises(TypeError):
        token.claims["sub"] = "agent:other"


@pytest.mark.parametrize(
    ("algorithm", "make_key"),
    [
        ("ES256", lambda: ECKey.generate_key("P-256", {"kid": "k"})),
        ("RS256", lambda: RSAKey.generate_key(2048, {"kid": "k"})),
        ("EdDSA", lambda: OKPKey.generate_key("Ed25519", {"kid": "k"})),
    ],
)
def test_tokens_of_other_issuers_verify_with_the_algorithms_of_the_contract(
    algorithm: str, make_key: Callable[[], Key]
) -> None:
    key = make_key()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        token = jwt.encode({"alg": algorithm, "kid": "k"}, dict(CLAIMS), key, [algorithm])
    keys = key_set({"keys": [key.as_dict(private=False)]})
    assert verify(token, keys).subject == "agent:support"
    others = {"EdDSA", "ES256", "RS256"} - {algorithm}
    assert code_of(token, keys, algorithms=others) == "auth.algorithm"


def test_verifying_our_own_tokens_warns_about_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verify(signed())


@pytest.mark.parametrize("algorithm", ["none", "None", "", "HS256", "ES384", "Ed25519", None, 7])
def test_an_algorithm_outside_the_contract_is_refused(algorithm: object) -> None:
    assert code_of(raw_token(header(alg=algorithm), CLAIMS)) == "auth.algorithm"


def test_an_unsigned_token_is_refused() -> None:
    head, body, _ = raw_token(header(alg="none"), CLAIMS).split(".")
    assert code_of(f"{head}.{body}.") == "auth.algorithm"
    head, body, _ = signed().split(".")
    assert code_of(f"{head}.{body}.") == "auth.bad_signature"


def test_a_public_key_can_not_be_used_as_a_shared_secret() -> None:
    secret = OctKey.import_key(SIGNER.verification_key.public_bytes)
    kid = SIGNER.verification_key.kid
    token = jwt.encode({"alg": "HS256", "kid": kid}, dict(CLAIMS), secret, ["HS256"])
    assert code_of(token) == "auth.algorithm"
    assert code_of(token, algorithms=["HS256"]) == "auth.algorithm"


def test_a_key_of_another_type_than_the_algorithm_is_refused() -> None:
    key = ECKey.generate_key("P-256", {"kid": SIGNER.verification_key.kid})
    assert code_of(signed(), KeySet([key])) == "auth.unknown_key"


def test_a_key_that_is_not_trusted_is_refused() -> None:
    stranger = Ed25519Signer.generate()
    assert code_of(sign_token(CLAIMS, signer=stranger)) == "auth.unknown_key"
    no_kid = {"alg": "EdDSA", "typ": "JWT"}
    assert code_of(raw_token(no_kid, CLAIMS)) == "auth.unknown_key"
    assert code_of(raw_token(header(kid=["x"]), CLAIMS)) == "auth.unknown_key"


def test_a_forger_who_borrows_the_key_id_is_refused() -> None:
    content = ".".join(signed().split(".")[:2])
    forged = f"{content}.{base64url.encode(Ed25519Signer.generate().sign(content.encode()))}"
    assert code_of(forged) == "auth.bad_signature"


@given(st.data())
def test_no_changed_character_goes_unnoticed(data: st.DataObject) -> None:
    token = signed()
    position = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("AZaz09-_.=+ é").filter(lambda c: c != token[position]))
    changed = token[:position] + letter + token[position + 1 :]
    with pytest.raises(ContextOSError):
        verify(changed)


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_every_required_claim_is_required(claim: str) -> None:
    assert code_of(raw_token(header(), without(claim))) == "auth.claim_missing"
    with pytest.raises(ValueError, match=claim):
        sign_token(without(claim), signer=SIGNER)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"exp": int(NOW.timestamp()) - 31}, "auth.expired"),
        ({"nbf": int(NOW.timestamp()) + 31}, "auth.not_yet_valid"),
        ({"iat": int(NOW.timestamp()) + 31}, "auth.not_yet_valid"),
        ({"aud": "https://other.example"}, "auth.wrong_audience"),
        ({"aud": []}, "auth.wrong_audience"),
        ({"aud": ["https://other.example"]}, "auth.wrong_audience"),
        ({"aud": AUDIENCE + "/"}, "auth.wrong_audience"),
        ({"aud": {"a": AUDIENCE}}, "auth.wrong_audience"),
        ({"iss": "https://other.example"}, "auth.wrong_issuer"),
        ({"iss": [ISSUER]}, "auth.wrong_issuer"),
        ({"sub": ""}, "auth.claim_invalid"),
        ({"sub": 7}, "auth.claim_invalid"),
        ({"jti": ""}, "auth.claim_invalid"),
        ({"exp": "tomorrow"}, "auth.claim_invalid"),
        ({"exp": True}, "auth.claim_invalid"),
        ({"exp": 10**18}, "auth.claim_invalid"),
        ({"exp": 1e300}, "auth.claim_invalid"),
        ({"iat": -1}, "auth.claim_invalid"),
    ],
)
def test_a_claim_that_is_wrong_is_refused_with_its_own_code(
    changes: dict[str, Any], code: str
) -> None:
    assert code_of(signed(**changes)) == code


def test_small_differences_between_clocks_are_forgiven() -> None:
    seconds = int(NOW.timestamp())
    assert verify(signed(exp=seconds - 29))
    assert verify(signed(nbf=seconds + 29, iat=seconds + 29))
    assert code_of(signed(exp=seconds), leeway=0) == "auth.expired"


def test_one_audience_among_several_is_enough() -> None:
    assert verify(signed(aud=["https://other.example", AUDIENCE]))


@pytest.mark.parametrize("name", ["crit", "b64", "jwk", "jku", "x5u"])
def test_headers_that_change_the_rules_are_refused(name: str) -> None:
    assert code_of(raw_token(header(**{name: ["exp"]}), CLAIMS)) == "auth.malformed"


def test_the_type_is_checked_where_one_is_asked_for() -> None:
    token = sign_token(CLAIMS, signer=SIGNER, typ="agent+jwt")
    assert verify(token, typ="agent+jwt")
    assert code_of(token, typ="user+jwt") == "auth.wrong_type"
    assert code_of(raw_token({**header(), "typ": None}, CLAIMS), typ="JWT") == "auth.wrong_type"


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "not a token",
        "é.é.é",
        "\ud800.a.b",
        raw_token("[]", CLAIMS),
        raw_token(header(), "[]"),
        raw_token(header(), '"text"'),
        raw_token('{"alg":"EdDSA","alg":"none"}', CLAIMS),
        raw_token(header(), '{"sub":"agent:support","sub":"agent:admin"}'),
        raw_token(header(), '{"exp":NaN}'),
        raw_token(header(), "[" * 500),
    ],
)
def test_what_is_not_a_token_is_refused(token: str) -> None:
    assert code_of(token) == "auth.malformed"
    with pytest.raises(ContextOSError):
        peek_token(token)


def test_an_oversized_token_is_refused_before_it_is_read() -> None:
    assert code_of(signed(filler="x" * 16_384)) == "auth.malformed"


@given(st.text(max_size=80))
def test_no_text_raises_anything_but_a_coded_error(text: str) -> None:
    with pytest.raises(ContextOSError):
        verify(text)


def test_peeking_tells_which_keys_to_look_for() -> None:
    peeked = peek_token(signed())
    assert (peeked.issuer, peeked.kid) == (ISSUER, SIGNER.verification_key.kid)
    odd = peek_token(raw_token({"kid": 5}, {"iss": ["x"], "tenant_id": {}}))
    assert (odd.issuer, odd.kid, odd.tenant_id) == (None, None, None)


def test_a_key_set_keeps_only_public_keys_that_are_strong_enough() -> None:
    usable = SIGNER.verification_key.jwk()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        weak = RSAKey.generate_key(1024).as_dict(private=False)
    secret = OctKey.generate_key(256).as_dict(private=True)
    private = OKPKey.generate_key("Ed25519").as_dict(private=True)
    encrypting = usable | {"use": "enc"}
    unknown = {"kty": "LATTICE", "x": "1"}
    entries = [weak, secret, private, encrypting, unknown, None, {"kty": "RSA"}, usable]
    assert [key.kid for key in key_set({"keys": entries})] == [usable["kid"]]


@pytest.mark.parametrize(
    "jwks", [{}, {"keys": {}}, {"keys": []}, {"keys": [{}]}, {"keys": [{}] * 101}]
)
def test_a_key_set_without_a_usable_key_is_refused(jwks: dict[str, Any]) -> None:
    with pytest.raises(ContextOSError) as caught:
        key_set(jwks)
    assert caught.value.code == "jwks.malformed"
