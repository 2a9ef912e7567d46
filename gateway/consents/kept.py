"""What a consent brought, as it is kept: tokens encrypted, opened only to be shown outside."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from contextos.core import strict_json
from contextos.core.clock import format_time, parse_time, utcnow
from gateway.credentials.endpoint import Granted
from gateway.credentials.keeping import open_text, seal_text, tokens_context
from gateway.credentials.tokens import AccessToken, fresh_until
from gateway.models import Consent


def sealed_tokens(consent: Consent, granted: Granted, *, refresh_token: str | None = None) -> bytes:
    """The token, what it is good for and how to get the next; a server may keep the old way."""
    kept = {
        "access_token": granted.access_token,
        "scopes": list(granted.scopes),
        "ends_at": format_time(utcnow() + timedelta(seconds=granted.lifetime)),
        "refresh_token": granted.refresh_token or refresh_token,
    }
    return seal_text(strict_json.dumps(kept), tokens_context(consent))


def opened_tokens(consent: Consent) -> dict[str, Any]:
    """What `sealed_tokens` made."""
    text = open_text(bytes(consent.sealed_tokens), tokens_context(consent))
    return dict(strict_json.loads_object(text))


def usable_token(
    kept: Mapping[str, Any], scopes: tuple[str, ...], *, refused: str | None
) -> AccessToken | None:
    """The token kept, if it lasts and fits; a wider one only where none narrower can be had."""
    left = (parse_time(kept["ends_at"]) - utcnow()).total_seconds()
    fits = set(scopes) == set(kept["scopes"]) or not kept.get("refresh_token")
    ends_at = fresh_until(left, asked_at=time.monotonic())
    token = AccessToken(value=kept["access_token"], scopes=tuple(kept["scopes"]), ends_at=ends_at)
    return token if fits and token.is_fresh and token.value != refused else None
