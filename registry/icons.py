"""Icons that manifests name: untrusted bytes in, a small picture of our own making out."""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from PIL import Image, UnidentifiedImageError

from contextos.core.errors import coded_error
from registry.manifest.access import objects, text

SIZE = 48
MAX_BYTES = 64 * 1024
MAX_PIXELS = 1024 * 1024
# What a file says of itself in its first bytes; SVG is a program and so is not among them.
_MAGIC: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/webp": (b"RIFF",),
}
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}


@dataclass(frozen=True, slots=True)
class DeclaredIcon:
    """One icon of one capability."""

    capability_id: str
    src: str
    mime_type: str


def declared_icons(manifest: Mapping[str, Any]) -> Iterator[DeclaredIcon]:
    """The first icon of each capability that has one."""
    for _, capability in objects(manifest, "capabilities"):
        for _, icon in objects(capability, "icons")[:1]:
            src = text(icon, "src")
            if src:
                yield DeclaredIcon(text(capability, "capability_id"), src, text(icon, "mimeType"))


def picture_from(content: bytes, mime_type: str) -> bytes:
    """The bytes re-encoded as a 48 x 48 PNG, or `icon.refused` with the reason."""
    kind = mime_type.partition(";")[0].strip().lower()
    if len(content) > MAX_BYTES:
        raise _refused(f"It has {len(content)} bytes; at most {MAX_BYTES} are taken.")
    if kind not in _MAGIC:
        raise _refused(f"{kind[:60] or 'No type'} is not PNG, JPEG or WebP.")
    if not _begins_as(content, kind):
        raise _refused(f"It is served as {kind}, but its first bytes say otherwise.")
    return _reencoded(content, _FORMATS[kind])


def inline_content(src: str) -> tuple[bytes, str] | None:
    """Bytes and type of a `data:` address; None when the address leads elsewhere."""
    if not src.lower().startswith("data:"):
        return None
    head, comma, body = src[5:].partition(",")
    if not comma or len(body) > 2 * MAX_BYTES:
        raise _refused("The data: address is malformed or too long.")
    mime_type, _, encoding = head.partition(";")
    if encoding.strip().lower() != "base64":
        return unquote_to_bytes(body), mime_type
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True), mime_type
    except binascii.Error:
        raise _refused("The data: address is not base64.") from None


def _begins_as(content: bytes, kind: str) -> bool:
    if kind == "image/webp":
        return content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return content.startswith(_MAGIC[kind])


def _reencoded(content: bytes, only_format: str) -> bytes:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=[only_format]) as opened:
                if opened.width * opened.height > MAX_PIXELS:
                    raise _refused(f"It measures {opened.width} x {opened.height} pixels.")
                opened.load()
                return _fitted(opened)
    except (
        UnidentifiedImageError,
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ):
        raise _refused("It can't be read as a picture.") from None


def _fitted(opened: Image.Image) -> bytes:
    """Drawn anew on a clear square: nothing of the original file but its pixels is kept."""
    picture = opened.convert("RGBA")
    picture.thumbnail((SIZE, SIZE))
    square = Image.new("RGBA", (SIZE, SIZE), (0, 0, 0, 0))
    square.paste(picture, ((SIZE - picture.width) // 2, (SIZE - picture.height) // 2))
    out = io.BytesIO()
    square.save(out, "PNG", optimize=True)
    return out.getvalue()


def _refused(reason: str) -> Exception:
    return coded_error("icon.refused", message=reason)
