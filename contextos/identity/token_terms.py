"""What our own tokens say of themselves, shared by those who sign and those who verify."""

from __future__ import annotations

from django.conf import settings

AUDIENCE = "contextos"
TOKEN_TYPE = "JWT"  # noqa: S105 - a media type, no secret


def token_issuer() -> str:
    """The `iss` of our tokens: a name, not an address, so that moving the service breaks none."""
    return str(getattr(settings, "TOKEN_ISSUER", "contextos"))
