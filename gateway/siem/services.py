"""Streams of a tenant: made, changed, paused, resumed, tested, sent again, removed."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from audit.models import LogHead
from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock
from contextos.identity.field_encryption import encrypt_field
from contextos.net.signed_posts import fingerprint, key_of
from gateway.models import SiemStream
from gateway.models.streams import StreamTransport
from gateway.siem.records import SiemRecord
from gateway.siem.sending import (
    check_receiver,
    opened,
    secret_context,
    send_records,
    shown_receiver,
)

LONGEST_AUTHORITY = 20_000


@transaction.atomic
def create_stream(
    *,
    tenant_id: str,
    name: str,
    transport: str,
    address: str,
    format: str,  # noqa: A002  the word of the contract
    actor: Actor,
    contents: str = "all",
    authority: str = "",
    secret: str = "",
    authorization: str = "",
    from_beginning: bool = False,
) -> SiemStream:
    """Send a tenant's log there, from now on or from its first row."""
    require_authority(actor, tenant_id)
    stream = SiemStream(
        tenant_id=tenant_id,
        name=name.strip(),
        transport=transport,
        address=address.strip(),
        format=format,
        contents=contents,
        authority=authority.strip(),
        next_index=0 if from_beginning else tree_size(tenant_id),
        due_at=utcnow(),
    )
    _check(stream)
    stream.save(force_insert=True)
    _seal(stream, secret, authorization)
    _record(stream, "siem.stream.added", actor, from_index=stream.next_index)
    return stream


@transaction.atomic
def change_stream(
    *,
    stream_pk: int,
    name: str,
    address: str,
    format: str,  # noqa: A002
    contents: str,
    authority: str,
    actor: Actor,
    secret: str = "",
    authorization: str = "",
) -> SiemStream:
    """Change it; empty secrets keep those there are. Its place in the log stays."""
    stream = _locked(stream_pk, actor)
    stream.name, stream.address = name.strip(), address.strip()
    stream.format, stream.contents, stream.authority = format, contents, authority.strip()
    stream.failures = 0
    _check(stream)
    stream.save(update_fields=["name", "address", "format", "contents", "authority", "failures"])
    _take_away(stream)
    _seal(stream, secret, authorization)
    _record(stream, "siem.stream.changed", actor)
    return stream


@transaction.atomic
def pause_stream(*, stream_pk: int, reason: str, actor: Actor) -> SiemStream:
    """Send nothing until it is resumed; its place in the log stays."""
    stream = _locked(stream_pk, actor)
    _require_reason(reason)
    if not stream.is_active:
        raise coded_error("siem.already_paused")
    stream.is_active = False
    stream.save(update_fields=["is_active"])
    _record(stream, "siem.stream.paused", actor, reason=reason)
    return stream


@transaction.atomic
def resume_stream(*, stream_pk: int, actor: Actor) -> SiemStream:
    """Go on where it stood; everything since is sent."""
    stream = _locked(stream_pk, actor)
    if stream.is_active:
        raise coded_error("siem.not_paused")
    stream.is_active, stream.due_at, stream.failures = True, utcnow(), 0
    stream.save(update_fields=["is_active", "due_at", "failures"])
    _record(stream, "siem.stream.resumed", actor)
    return stream


@transaction.atomic
def send_again(*, stream_pk: int, from_index: int, reason: str, actor: Actor) -> SiemStream:
    """Go back to a place in the log: for a receiver that lost what it had taken."""
    stream = _locked(stream_pk, actor)
    _require_reason(reason)
    if not 0 <= from_index <= stream.next_index:
        raise coded_error("siem.index_invalid", data={"at_most": stream.next_index})
    before, stream.next_index = stream.next_index, from_index
    stream.save(update_fields=["next_index"])
    _take_away(stream)
    _record(stream, "siem.stream.rewound", actor, reason=reason, was=before, now=from_index)
    return stream


@transaction.atomic
def delete_stream(*, stream_pk: int, actor: Actor) -> None:
    """Send nothing there any more; what was sent stays in the log as sent."""
    stream = _locked(stream_pk, actor)
    _record(stream, "siem.stream.removed", actor, sent=stream.sent)
    stream.delete()


def send_test(*, stream_pk: int, actor: Actor) -> None:
    """One record that says it is a test, sent at once and outside the order of the log."""
    stream = SiemStream.objects.get(pk=stream_pk)
    require_authority(actor, stream.tenant_id)
    send_records(stream, [_test_record(stream)])
    _record(stream, "siem.stream.tested", actor)


def shown_secrets(stream: SiemStream) -> str:
    """Fingerprints; the secrets themselves are never shown."""
    found = {name: opened(stream, name) for name in ("secret", "authorization")}
    words = {"secret": "signed with", "authorization": "authorization"}
    said = [f"{words[name]} sha256 {fingerprint(value)}" for name, value in found.items() if value]
    return ", ".join(said) or "none"


def tree_size(tenant_id: str) -> int:
    """How many rows the tenant's log has."""
    sizes = LogHead.objects.filter(pk=tenant_id).values_list("tree_size", flat=True)
    return sizes.first() or 0


def _locked(stream_pk: int, actor: Actor) -> SiemStream:
    stream = lock(SiemStream, stream_pk)
    require_authority(actor, stream.tenant_id)
    return stream


def _take_away(stream: SiemStream) -> None:
    """Whoever sends now has lost the stream: its batch went elsewhere, or came from elsewhere, and
    does not move the cursor."""
    stream.due_at, stream.worker, stream.lease_until = utcnow(), "", None
    stream.save(update_fields=["due_at", "worker", "lease_until"])


def _check(stream: SiemStream) -> None:
    if stream.authority and stream.transport != StreamTransport.SYSLOG_TLS:
        said = "Only syslog over TLS takes an authority of its own."
        raise coded_error("siem.stream_invalid", message=said)
    if len(stream.authority) > LONGEST_AUTHORITY:
        raise coded_error("siem.stream_invalid", message="The authority is too long.")
    check_receiver(stream)
    stream.full_clean(exclude=["due_at", "last_sent_at", "lease_until"])


def _seal(stream: SiemStream, secret: str, authorization: str) -> None:
    given = {"secret": secret, "authorization": authorization}
    if any(given.values()) and stream.transport != StreamTransport.WEBHOOK:
        raise coded_error("siem.stream_invalid", message="Only webhooks are signed.")
    if secret:
        key_of(secret)  # a weak one is refused
    for name, value in given.items():
        if value:
            sealed = encrypt_field(value.encode(), context=secret_context(stream, name))
            setattr(stream, f"sealed_{name}", sealed)
    stream.save(update_fields=["sealed_secret", "sealed_authorization"])


def _require_reason(reason: str) -> None:
    if not reason.strip():
        raise coded_error("siem.reason_missing")


def _test_record(stream: SiemStream) -> SiemRecord:
    return SiemRecord(
        id=new_id("req").replace("req_", "test_"),
        log_index=stream.next_index,
        time=format_time(utcnow()),
        tenant_id=stream.tenant_id,
        kind="test",
        name="siem.test",
        title="Test of a SIEM stream",
        severity=1,
        fields={"stream": stream.name},
    )


def _record(
    stream: SiemStream, action: str, actor: Actor, *, reason: str = "", **more: Any
) -> None:
    record_event(
        tenant_id=stream.tenant_id,
        action=action,
        actor=actor,
        subject_kind="siem_stream",
        subject_id=stream.name,
        reason=reason.strip(),
        data={
            "transport": stream.transport,
            "receiver": shown_receiver(stream),
            "format": stream.format,
            "contents": stream.contents,
            "secrets": shown_secrets(stream),
            **more,
        },
    )
