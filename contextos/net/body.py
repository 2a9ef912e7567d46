"""Reads an answer's body into memory, bounded before and after decompression."""

import zlib
from collections.abc import Iterable

from contextos.core.errors import ContextOSError
from contextos.net.failures import failure
from contextos.net.messages import Response

_GZIP_NAMES = frozenset({"gzip", "x-gzip"})


def read_body(chunks: Iterable[bytes], *, answer: Response, max_bytes: int) -> bytes:
    """The decoded body, or an error as soon as it is known to be too large."""
    host = answer.host
    announced = answer.header("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _too_large(host, max_bytes)
    encoding = answer.header("content-encoding", "").strip().lower()
    if encoding in _GZIP_NAMES:
        return _read_gzip(_counted(chunks, host, max_bytes), host, max_bytes)
    if encoding not in {"", "identity"}:
        raise _broken(host, "answered in a compression that was not asked for")
    return b"".join(_counted(chunks, host, max_bytes))


def _counted(chunks: Iterable[bytes], host: str, max_bytes: int) -> Iterable[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > max_bytes:
            raise _too_large(host, max_bytes)
        yield chunk


def _read_gzip(chunks: Iterable[bytes], host: str, max_bytes: int) -> bytes:
    body = bytearray()
    member = _new_member()
    started = False
    for chunk in chunks:
        data = chunk
        while data:
            if member.eof:  # gzip files may be glued together
                member = _new_member()
            started = True
            body += _inflate(member, data, room=max_bytes - len(body), host=host)
            if len(body) > max_bytes:
                raise _too_large(host, max_bytes)
            data = member.unused_data
    if started and not member.eof:
        raise _broken(host, "cut its compressed answer short")
    return bytes(body)


def _new_member() -> "zlib._Decompress":
    return zlib.decompressobj(zlib.MAX_WBITS | 16)


def _inflate(member: "zlib._Decompress", data: bytes, *, room: int, host: str) -> bytes:
    try:
        return member.decompress(data, room + 1)  # one over, to notice the limit
    except zlib.error:
        raise _broken(host, "sent an answer that does not decompress") from None


def _too_large(host: str, max_bytes: int) -> ContextOSError:
    message = f"{host} answered with more than the {max_bytes} bytes allowed."
    return failure("egress.too_large", message, host=host, max_bytes=max_bytes)


def _broken(host: str, what: str) -> ContextOSError:
    return failure("egress.protocol", f"{host} {what}.", host=host)
