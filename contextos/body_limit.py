"""Refuses a request body beyond what any page or call takes, before a byte of it is kept.

Django bounds form fields, but writes uploaded files to disk while it looks for the CSRF token,
whoever sent them; under ASGI it spools the whole body before the first middleware runs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

_STATUS = 413
_LONGEST_NUMBER = 30
_ANSWER = b"The body is larger than this service takes.\n"


def announces_too_much(request: HttpRequest) -> bool:
    """Whether the body is longer than anything here takes, by its own account.

    Without a length Django reads no body at all from a WSGI server, so the header is enough.
    """
    return _length(request.META.get("CONTENT_LENGTH")) > int(settings.REQUEST_BODY_LIMIT)


def limit_body(application: Application) -> Application:
    """The ASGI application behind the same bound, also for bodies that announce no length."""

    async def bounded(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
        elif _length(dict(scope["headers"]).get(b"content-length")) > settings.REQUEST_BODY_LIMIT:
            await _refuse(send)
        else:
            await application(scope, _counted(receive), send)

    return bounded


def _counted(receive: Receive) -> Receive:
    left = settings.REQUEST_BODY_LIMIT

    async def counted() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        # To the application a sender who goes on and on has left.
        return message if left >= 0 else {"type": "http.disconnect"}

    return counted


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": _STATUS, "headers": headers})
    await send({"type": "http.response.body", "body": _ANSWER})


def _length(header: str | bytes | None) -> int:
    """Zero for what is no number: the servers in front refuse such a header themselves."""
    text = header.decode("latin-1") if isinstance(header, bytes) else header or ""
    # Cut, because int() of a very long text is slow or refused; what is left is still too long.
    return int(text[:_LONGEST_NUMBER]) if text.isascii() and text.isdigit() else 0
