"""Icons: untrusted bytes become a small picture of our own making, or nothing."""

from __future__ import annotations

import base64
import contextlib
import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from contextos.core.errors import ContextOSError
from registry.icons import MAX_BYTES, declared_icons, inline_content, picture_from


def drawn(kind: str = "PNG", size: tuple[int, int] = (64, 32), **how: object) -> bytes:
    """A picture as some server might have it."""
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 30)).save(out, kind, **how)
    return out.getvalue()


def refusal(content: bytes, mime_type: str) -> str:
    with pytest.raises(ContextOSError) as caught:
        picture_from(content, mime_type)
    assert caught.value.code == "icon.refused"
    return caught.value.message


@pytest.mark.parametrize(
    ("kind", "mime_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg; charset=x"), ("WEBP", "IMAGE/WEBP")],
)
def test_known_pictures_are_redrawn_at_48_pixels(kind: str, mime_type: str) -> None:
    with Image.open(io.BytesIO(picture_from(drawn(kind), mime_type))) as made:
        assert (made.format, made.size) == ("PNG", (48, 48))


def test_nothing_of_the_file_but_its_pixels_is_kept() -> None:
    notes = PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script>")
    made = picture_from(drawn(pnginfo=notes) + b"trailing payload", "image/png")
    assert b"script" not in made
    assert b"trailing" not in made


@pytest.mark.parametrize(
    ("content", "mime_type", "words"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "not PNG, JPEG or WebP"),
        (b"<svg/>", "image/png", "first bytes say otherwise"),
        (drawn("JPEG"), "image/png", "first bytes say otherwise"),
        (drawn("GIF"), "image/gif", "not PNG, JPEG or WebP"),
        (b"<html>", "text/html", "not PNG, JPEG or WebP"),
        (b"", "", "No type"),
        (drawn()[:60], "image/png", "can't be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "image/png", "can't be read"),
        (b"RIFF\0\0\0\0WEBPVP8 junk", "image/webp", "can't be read"),
    ],
)
def test_everything_else_is_refused_with_the_reason(
    content: bytes, mime_type: str, words: str
) -> None:
    assert words in refusal(content, mime_type)


def test_too_many_bytes_are_refused_unread() -> None:
    assert "at most" in refusal(b"\x89PNG\r\n\x1a\n" + b"x" * MAX_BYTES, "image/png")


def test_a_small_file_that_unfolds_into_many_pixels_is_refused() -> None:
    bomb = _bomb(20_000, 20_000)
    assert len(bomb) < MAX_BYTES
    assert refusal(bomb, "image/png")
    assert "1100 x 1100 pixels" in refusal(_bomb(1_100, 1_100), "image/png")


def _bomb(width: int, height: int) -> bytes:
    """A PNG whose header promises far more pixels than its few bytes hold."""

    def chunk(name: bytes, body: bytes) -> bytes:
        checked = name + body
        return len(body).to_bytes(4, "big") + checked + zlib.crc32(checked).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x00\x00\x00\x00"
    data = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@given(st.binary(max_size=200))
def test_any_bytes_behind_a_known_beginning_are_read_or_refused(tail: bytes) -> None:
    for start, mime_type in ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg")):
        with contextlib.suppress(ContextOSError):  # anything else would be a fault of ours
            picture_from(start + tail, mime_type)


def test_data_addresses_are_read_without_any_network() -> None:
    source = "data:image/png;base64," + base64.b64encode(drawn()).decode()
    found = inline_content(source)
    assert found == (drawn(), "image/png")
    assert inline_content("https://example.test/i.png") is None
    for bad in ("data:image/png;base64,@@", "data:image/png"):
        with pytest.raises(ContextOSError):
            inline_content(bad)


def test_only_the_first_icon_of_each_capability_is_wanted() -> None:
    manifest = {
        "capabilities": [
            {"capability_id": "a.b", "icons": [{"src": "https://x/1"}, {"src": "https://x/2"}]},
            {"capability_id": "a.c", "icons": "odd"},
            {"capability_id": "a.d", "icons": [{"src": ""}]},
        ]
    }
    assert [(i.capability_id, i.src) for i in declared_icons(manifest)] == [("a.b", "https://x/1")]
