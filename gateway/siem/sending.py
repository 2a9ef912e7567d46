"""Takes a batch of records to a stream's receiver, in the stream's format and by its transport."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from contextos.core.clock import utcnow
from contextos.identity.field_encryption import decrypt_field
from contextos.net.signed_posts import RawMessage, check_address, message_id, send_raw
from contextos.net.syslog import SyslogKind, SyslogPlace, check_place, parse_place, send_lines
from contextos.net.targets import parse_target
from gateway.models.streams import SiemStream, StreamFormat, StreamTransport
from gateway.siem.formats import body_of, cef_line, json_line, syslog_line
from gateway.siem.records import SiemRecord

DEADLINE_SECONDS = 10.0
_KINDS = {
    StreamTransport.SYSLOG_TLS: SyslogKind.TLS,
    StreamTransport.SYSLOG_TCP: SyslogKind.TCP,
    StreamTransport.SYSLOG_UDP: SyslogKind.UDP,
}
_TYPES = {StreamFormat.JSONL: "application/x-ndjson", StreamFormat.CEF: "text/plain; charset=utf-8"}
_WRITERS = {StreamFormat.JSONL: json_line, StreamFormat.CEF: cef_line}


def send_records(stream: SiemStream, records: Sequence[SiemRecord]) -> None:
    """Send them in order; anything short of being taken is a coded error."""
    write = _WRITERS[StreamFormat(stream.format)]
    if stream.transport == StreamTransport.WEBHOOK:
        _post(stream, records, [write(record) for record in records])
        return
    host = parse_target(settings.PUBLIC_URL).host
    lines = [syslog_line(record, write(record), host=host) for record in records]
    send_lines(
        place_of(stream), lines, environment=settings.CONTEXTOS_ENV, proxy=settings.EGRESS_PROXY
    )


def check_receiver(stream: SiemStream) -> None:
    """Refuse on entry what could never be sent to."""
    if stream.transport == StreamTransport.WEBHOOK:
        check_address(stream.address, environment=settings.CONTEXTOS_ENV)
    else:
        check_place(place_of(stream), environment=settings.CONTEXTOS_ENV)


def shown_receiver(stream: SiemStream) -> str:
    """Of a webhook its origin alone, since a path may hold a key."""
    if stream.transport == StreamTransport.WEBHOOK:
        return parse_target(stream.address).origin
    return place_of(stream).name


def place_of(stream: SiemStream) -> SyslogPlace:
    """Where syslog lines go."""
    kind = _KINDS[StreamTransport(stream.transport)]
    return parse_place(kind, stream.address, authority=stream.authority)


def _post(stream: SiemStream, records: Sequence[SiemRecord], lines: Sequence[str]) -> None:
    mark = f"siem:{stream.pk}:{records[0].id}:{records[-1].id}"
    message = RawMessage(
        url=stream.address,
        content=body_of(lines),
        content_type=_TYPES[StreamFormat(stream.format)],
        message_id=message_id(mark),
        secret=opened(stream, "secret"),
        authorization=opened(stream, "authorization"),
        deadline=DEADLINE_SECONDS,
    )
    send_raw(message, environment=settings.CONTEXTOS_ENV, proxy=settings.EGRESS_PROXY, now=utcnow())


def opened(stream: SiemStream, name: str) -> str | None:
    """A secret of the stream, for sending alone."""
    sealed = getattr(stream, f"sealed_{name}")
    if sealed is None:
        return None
    return decrypt_field(bytes(sealed), context=secret_context(stream, name)).decode()


def secret_context(stream: SiemStream, name: str) -> str:
    """Where the ciphertext of a secret belongs."""
    return f"gateway.siem_stream.{name}:{stream.tenant_id}:{stream.pk}"
