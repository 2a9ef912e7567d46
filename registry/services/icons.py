"""Keeping what came of fetching an icon."""

from __future__ import annotations

from django.utils import timezone

from contextos.core.canonical import digest_bytes
from registry.models.icons import Icon

_LONGEST_FAULT = 300


def keep_icon(*, tenant_id: str, src: str, picture: bytes | None, fault: str = "") -> Icon:
    """Remember the picture made of an address, or why there is none; the latest try counts."""
    values = {
        "picture": picture,
        "digest": digest_bytes(picture) if picture is not None else "",
        "fault": fault[:_LONGEST_FAULT],
        "fetched_at": timezone.now(),
    }
    icon, _ = Icon.objects.update_or_create(
        tenant_id=tenant_id, source_digest=source_digest(src), defaults=values
    )
    return icon


def source_digest(src: str) -> str:
    """How an address is looked up: it may be long, and is never shown as a link."""
    return digest_bytes(src.encode("utf-8"))
