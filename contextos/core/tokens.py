"""Tokens (JWT): signed with our own keys, and never accepted without every claim checked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Never

from joserfc import errors as jose
from joserfc import jws
from joserfc.jwk import ECKey, Key, KeySet, OKPKey, RSAKey
from joserfc.jwt import JWTClaimsRegistry

from contextos.core import base64url, strict_json
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import ALGORITHM, Signer

ALGORITHMS = frozenset({"EdDSA", "ES256", "RS256"})
REQUIRED_CLAIMS = frozenset({"iss", "sub", "aud", "exp", "iat", "jti"})
MAX_TOKEN_BYTES = 16 * 1024
MAX_KEYS = 100
DEFAULT_LEEWAY_SECONDS = 30
_MIN_RSA_BITS = 2048
_END_OF_TIME = 253_402_300_799  # 9999-12-31: the last second that a datetime can hold
# Headers that would let the token bring its own key, or change what is signed.
_REFUSED_HEADERS = frozenset({"crit", "b64", "jwk", "jku", "x5u"})
_TIME_CLAIMS = ("exp", "iat", "nbf")
_CODE_BY_CLAIM: Mapping[str, str] = MappingProxyType(
    {
        "iss": "auth.wrong_issuer",
        "aud": "auth.wrong_audience",
        "nbf": "auth.not_yet_valid",
        "iat": "auth.not_yet_valid",
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedToken:
    """Header and claims of a token whose signature and claims have been checked."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def issuer(self) -> str:
        """Who issued the token."""
        return str(self.claims["iss"])

    @property
    def subject(self) -> str:
        """Whom the token speaks for."""
        return str(self.claims["sub"])

    @property
    def token_id(self) -> str:
        """The name under which the token can be revoked."""
        return str(self.claims["jti"])

    @property
    def expires_at(self) -> datetime:
        """When the token stops to be valid."""
        return datetime.fromtimestamp(self.claims["exp"], UTC)


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """What a token says of itself before anything is checked: good for finding keys only."""

    issuer: str | None
    kid: str | None
    tenant_id: str | None


def sign_token(claims: Mapping[str, Any], *, signer: Signer, typ: str = "JWT") -> str:
    """A token over the claims; leaving out a required one is a programming error."""
    missing = sorted(REQUIRED_CLAIMS - claims.keys())
    if missing:
        raise ValueError(f"a token needs the claims {', '.join(missing)}")
    header = {"alg": ALGORITHM, "kid": signer.verification_key.kid, "typ": typ}
    signed = ".".join(_segment(part) for part in (header, dict(claims)))
    return f"{signed}.{base64url.encode(signer.sign(signed.encode('ascii')))}"


def verify_token(
    token: str,
    *,
    keys: KeySet,
    issuer: str,
    audience: str,
    algorithms: Collection[str] = ALGORITHMS,
    typ: str | None = None,
    leeway: int = DEFAULT_LEEWAY_SECONDS,
    now: datetime | None = None,
) -> VerifiedToken:
    """The token's content, if everything about it is in order; else a coded `auth.*` error.

    No error repeats any part of the token.
    """
    header, claims = _read(token)
    _check_header(header, algorithms=algorithms, typ=typ)
    _check_signature(token, _find_key(keys, header), str(header["alg"]))
    moment = int((now or datetime.now(UTC)).timestamp())
    _check_claims(claims, issuer=issuer, audience=audience, leeway=leeway, now=moment)
    return VerifiedToken(header=MappingProxyType(header), claims=MappingProxyType(claims))


def recheck_times(token: VerifiedToken, *, leeway: int = DEFAULT_LEEWAY_SECONDS) -> None:
    """Refuse a token verified a while ago whose time is over, or has not come, by today's clock."""
    moment = int(datetime.now(UTC).timestamp())
    if token.claims["exp"] <= moment - leeway:
        _refuse("auth.expired")
    if max(token.claims["iat"], token.claims.get("nbf", 0)) > moment + leeway:
        _refuse("auth.not_yet_valid")


def peek_token(token: str) -> UnverifiedToken:
    """What the token claims that helps to find the keys that can verify it."""
    header, claims = _read(token)
    return UnverifiedToken(
        issuer=_text_or_none(claims.get("iss")),
        kid=_text_or_none(header.get("kid")),
        tenant_id=_text_or_none(claims.get("tenant_id")),
    )


def key_set(jwks: Mapping[str, Any]) -> KeySet:
    """The usable public keys of a JWK set; secrets, weak and unknown keys are left out."""
    entries = jwks.get("keys")
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise coded_error("jwks.malformed")
    keys = [key for entry in entries if (key := _public_key(entry)) is not None]
    if not keys:
        raise coded_error("jwks.malformed", message="The key set holds no key that can be used.")
    return KeySet(keys)


class _Registry(jws.JWSRegistry):
    """joserfc's registry, but with our own list of algorithms as the only measure."""

    max_header_length = MAX_TOKEN_BYTES

    def get_alg(self, name: str) -> Any:
        # The library's own look-up warns at every EdDSA token (RFC 9864 renames the algorithm).
        return self.algorithms[name] if name in ALGORITHMS else _refuse("auth.algorithm")


def _segment(part: dict[str, Any]) -> str:
    return base64url.encode(strict_json.dumps(part).encode("utf-8"))


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _refuse(code: str, **data: Any) -> Never:
    raise coded_error(code, data=data) from None


def _read(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if len(token) > MAX_TOKEN_BYTES:
        raise coded_error("auth.malformed", message="The token is too long.")
    parts = token.split(".")
    if len(parts) != 3:
        raise coded_error("auth.malformed")
    try:
        header, claims, _ = (base64url.decode(part) for part in parts)
        return dict(strict_json.loads_object(header)), dict(strict_json.loads_object(claims))
    except (ValueError, ContextOSError):
        raise coded_error("auth.malformed") from None


def _check_header(header: dict[str, Any], *, algorithms: Collection[str], typ: str | None) -> None:
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS.intersection(algorithms):
        _refuse("auth.algorithm")
    if not _REFUSED_HEADERS.isdisjoint(header):
        raise coded_error("auth.malformed", message="The token's header is not acceptable.")
    if typ is not None and str(header.get("typ")).lower() != typ.lower():
        _refuse("auth.wrong_type", expected=typ)


def _find_key(keys: KeySet, header: dict[str, Any]) -> Key:
    kid = header.get("kid")
    for key in keys:
        if isinstance(kid, str) and kid and key.kid == kid:
            return key
    _refuse("auth.unknown_key")


def _check_signature(token: str, key: Key, algorithm: str) -> None:
    registry = _Registry(algorithms=[algorithm], strict_check_header=False)
    try:
        jws.deserialize_compact(token, key, registry=registry)
    except jose.BadSignatureError:
        _refuse("auth.bad_signature")
    except (jose.JoseError, ValueError):
        # The key exists but is not one for this algorithm.
        _refuse("auth.unknown_key")


def _check_claims(
    claims: dict[str, Any], *, issuer: str, audience: str, leeway: int, now: int
) -> None:
    registry = JWTClaimsRegistry(
        now=now,
        leeway=leeway,
        iss={"essential": True, "value": issuer},
        aud={"essential": True, "value": audience},
        sub={"essential": True},
        exp={"essential": True},
        iat={"essential": True},
        jti={"essential": True},
    )
    _check_times(claims)
    try:
        registry.validate(claims)
    except jose.ExpiredTokenError:
        _refuse("auth.expired")
    except jose.MissingClaimError as error:
        _refuse("auth.claim_missing", claims=error.claim)
    except jose.InvalidClaimError as error:
        _refuse(_CODE_BY_CLAIM.get(error.claim, "auth.claim_invalid"), claim=error.claim)


def _check_times(claims: dict[str, Any]) -> None:
    for name in _TIME_CLAIMS:
        value = claims.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            _refuse("auth.claim_invalid", claim=name)
        if not 0 <= value <= _END_OF_TIME:
            _refuse("auth.claim_invalid", claim=name)


def _public_key(entry: object) -> Key | None:
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    try:
        return _import_key(entry)
    except (jose.JoseError, ValueError, KeyError, TypeError):
        return None


def _import_key(entry: dict[str, Any]) -> Key | None:
    match entry.get("kty"), entry.get("crv"):
        case "OKP", "Ed25519":
            return OKPKey.import_key(entry)
        case "EC", "P-256":
            return ECKey.import_key(entry)
        case "RSA", _:
            return RSAKey.import_key(entry) if _modulus_bits(entry) >= _MIN_RSA_BITS else None
    return None


def _modulus_bits(entry: dict[str, Any]) -> int:
    return int.from_bytes(base64url.decode(entry["n"]), "big").bit_length()
