"""Fetches the icons a manifest names: one door, no credentials, little time, few bytes."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from audit.services import record_event
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from contextos.net import Timeouts, open_client, parse_target
from gateway.endpoints import egress_rule
from registry.icons import MAX_BYTES, declared_icons, inline_content, picture_from
from registry.models import AdapterVersion
from registry.selectors import manifest_of
from registry.services.icons import keep_icon

MOST_ICONS = 50
_TIMEOUTS = Timeouts(connect=2.0, read=3.0, write=2.0, pool=1.0)
_DEADLINE = 4.0
_ACCEPT = "image/png, image/jpeg, image/webp"


@dataclass(frozen=True, slots=True)
class FetchedIcons:
    """What came of it."""

    made: int
    refused: int


def fetch_icons(*, version: AdapterVersion, actor: Actor) -> FetchedIcons:
    """Fetch each icon of a version once; a failure leaves the placeholder and its reason."""
    require_authority(actor, version.tenant_id)
    sources = {icon.src: icon.mime_type for icon in declared_icons(manifest_of(version))}
    chosen = list(sources)[:MOST_ICONS]
    made = sum(_fetched(version, src, sources[src]) for src in chosen)
    outcome = FetchedIcons(made, len(chosen) - made)
    record_event(
        tenant_id=version.tenant_id,
        action="gateway.icons_fetched",
        actor=actor,
        subject_kind="adapter_version",
        subject_id=version.version_id,
        data={"made": outcome.made, "refused": outcome.refused},
    )
    return outcome


def _fetched(version: AdapterVersion, src: str, mime_type: str) -> bool:
    try:
        picture = _picture(version.environment, src, mime_type)
    except ContextOSError as refusal:
        keep_icon(tenant_id=version.tenant_id, src=src, picture=None, fault=refusal.message)
        return False
    keep_icon(tenant_id=version.tenant_id, src=src, picture=picture)
    return True


def _picture(environment: str, src: str, mime_type: str) -> bytes:
    inline = inline_content(src)
    if inline is not None:
        content, served_as = inline
    else:
        content, served_as = _download(environment, src)
    if mime_type and mime_type.lower() != served_as.partition(";")[0].strip().lower():
        raise coded_error("icon.refused", message=f"It is served as {served_as[:60]}.")
    return picture_from(content, served_as)


def _download(environment: str, src: str) -> tuple[bytes, str]:
    """No cookie, no token, no redirect: an icon is worth none of them."""
    client = open_client(
        egress_rule(src, environment),
        timeouts=_TIMEOUTS,
        max_bytes=MAX_BYTES,
        deadline=_DEADLINE,
        proxy=settings.EGRESS_PROXY,
    )
    answer = client.request("GET", src, headers={"Accept": _ACCEPT})
    if answer.status != 200:
        raise coded_error(
            "icon.refused", message=f"{parse_target(src).host} answers {answer.status}."
        )
    return answer.content, answer.header("content-type", "")
