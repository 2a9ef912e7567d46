"""Keys of trusted outside issuers: pasted ones as they are, others fetched through the one door."""

from __future__ import annotations

import logging
from functools import lru_cache

from django.conf import settings
from joserfc.jwk import KeySet

from contextos.core import strict_json
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.tokens import key_set
from contextos.identity.key_cache import CacheTimes, KeyCache
from contextos.identity.models import TrustedIssuer
from contextos.net import EgressRule, Timeouts, open_client, parse_target

FRESH_SECONDS = 300.0
RETRY_SECONDS = 30.0
STALE_SECONDS = 3600.0  # an issuer that is down for an hour does not lock its callers out
MAX_JWKS_BYTES = 256 * 1024
_TIMES = CacheTimes(fresh_for=FRESH_SECONDS, retry_after=RETRY_SECONDS, stale_for=STALE_SECONDS)
_TIMEOUTS = Timeouts(connect=2.0, read=3.0, write=3.0, pool=1.0)
_DEADLINE = 4.0

logger = logging.getLogger(__name__)


def issuer_keys(row: TrustedIssuer, kid: str | None) -> KeySet:
    """The keys that may sign for this issuer now."""
    if row.jwks:
        return _pasted(strict_json.dumps(row.jwks))
    return _fetched(row.jwks_url).keys_for(kid)


def forget_fetched_keys() -> None:
    """Fetch anew at the next use, in this process."""
    _fetched.cache_clear()


@lru_cache(maxsize=256)
def _pasted(text: str) -> KeySet:
    return key_set(strict_json.loads_object(text))


@lru_cache(maxsize=256)
def _fetched(url: str) -> KeyCache:
    return KeyCache(lambda: _fetch(url), _TIMES)


def _fetch(url: str) -> KeySet:
    try:
        return key_set(strict_json.loads_object(_get(url), max_bytes=MAX_JWKS_BYTES))
    except ContextOSError as fault:
        logger.warning("The keys at %s can't be used: %s", url, fault)
        raise coded_error("auth.keys_unavailable") from fault


def _get(url: str) -> bytes:
    target = parse_target(url)
    rule = EgressRule.for_environment(settings.CONTEXTOS_ENV, [target.authority])
    client = open_client(
        rule,
        timeouts=_TIMEOUTS,
        max_bytes=MAX_JWKS_BYTES,
        deadline=_DEADLINE,
        proxy=settings.EGRESS_PROXY,
    )
    answer = client.request("GET", url, headers={"Accept": "application/json"})
    if answer.status != 200:
        raise coded_error("auth.keys_unavailable", data={"status": answer.status})
    return answer.content
