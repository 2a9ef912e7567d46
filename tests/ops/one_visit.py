"""Asks the WSGI application twice in a process of its own and prints the trace it answered with."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from contextos.wsgi import application

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def ask(path: str, query: str = "") -> dict[str, str]:
    """The headers of the answer."""
    answer: dict[str, str] = {}
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "HTTP_TRACEPARENT": f"00-{TRACE}-{PARENT}-01",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.url_scheme": "http",
    }

    def start_response(
        status: str, headers: list[tuple[str, str]], exc_info: object = None, /
    ) -> Callable[[bytes], object]:
        answer.update(headers)
        return sys.stdout.buffer.write

    list(application(environ, start_response))
    return answer


if __name__ == "__main__":
    ask("/healthz")
    answered = ask("/.well-known/jwks.json", "access_token=s3cr3t")
    sys.stdout.write(answered["traceparent"])
