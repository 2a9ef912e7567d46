"""Our public keys, so that anybody can check what we signed."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from contextos.identity.keyring import PUBLISHED, key_store

_CACHE_SECONDS = 300


@require_safe
def jwks_view(request: HttpRequest) -> JsonResponse:
    """`/.well-known/jwks.json`: every key whose signatures count today."""
    return JsonResponse(
        key_store().jwks(*PUBLISHED),
        content_type="application/jwk-set+json",
        headers={"Cache-Control": f"public, max-age={_CACHE_SECONDS}"},
    )
