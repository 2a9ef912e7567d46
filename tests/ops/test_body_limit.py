"""Nobody fills the disk: a body beyond every bound is turned away before it is read."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from django.test import Client, RequestFactory

from contextos.body_limit import announces_too_much, limit_body

LIMIT = 4096
CSRF_COOKIE = "a" * 32  # with it the CSRF check looks for the token inside the form


class Watched(io.BytesIO):
    """A body that knows whether somebody read it."""

    was_read = False

    def read(self, size: int | None = -1, /) -> bytes:
        """As usual, but remembered."""
        self.was_read = True
        return super().read(size)


@pytest.fixture(autouse=True)
def small_limit(settings: Any) -> None:
    settings.REQUEST_BODY_LIMIT = LIMIT


def upload(path: str, body: Watched, length: int) -> Any:
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = CSRF_COOKIE
    environ: dict[str, Any] = {"CONTENT_LENGTH": str(length), "wsgi.input": body}
    return client.generic("POST", path, b"", "multipart/form-data; boundary=B", **environ)


def test_a_stranger_cannot_make_us_store_a_large_upload() -> None:
    body = Watched(b"--B\r\n" + b"x" * LIMIT)
    page = upload("/admin/login/", body, LIMIT + 5)
    assert page.status_code == 413
    assert "too much at once" in page.text
    assert not body.was_read
    assert page["Content-Security-Policy"]


def test_programs_get_a_problem() -> None:
    answer = upload("/api/v1/adapters", Watched(), LIMIT + 1)
    assert answer.status_code == 413
    assert answer.json()["code"] == "json.too_large"


@pytest.mark.parametrize("length", ["0", str(LIMIT), "", "-1", "many"])
def test_what_fits_or_says_nothing_passes(length: str) -> None:
    request = RequestFactory().post("/admin/login/", CONTENT_LENGTH=length)
    assert not announces_too_much(request)


def test_no_number_is_too_long_to_be_too_large() -> None:
    request = RequestFactory().post("/admin/login/", CONTENT_LENGTH="9" * 5000)
    assert announces_too_much(request)


# --- ASGI ----------------------------------------------------------------------------------------
async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads all that comes and says how it ended."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            break
    await send({"type": "seen", "last": message["type"]})


def ask(chunks: list[bytes], headers: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, start=1)
    ]

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": headers}

    async def serve() -> None:
        await limit_body(application)(scope, receive, send)

    asyncio.run(serve())
    return sent


def test_under_asgi_an_announced_length_is_refused_at_once() -> None:
    answer = ask([b""], [(b"content-length", str(LIMIT + 1).encode())])
    assert answer[0]["status"] == 413


def test_under_asgi_a_body_without_length_ends_at_the_bound() -> None:
    assert ask([b"x" * 2000] * 9, []) == [{"type": "seen", "last": "http.disconnect"}]


def test_under_asgi_what_fits_passes() -> None:
    assert ask([b"x" * 2000] * 2, []) == [{"type": "seen", "last": "http.request"}]
