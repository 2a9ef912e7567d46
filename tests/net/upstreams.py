"""Real servers on 127.0.0.1 that answer, drip, break off or count who calls."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

Handler = Callable[["Call"], None]


class Call:
    """One accepted connection, as a handler sees it."""

    def __init__(self, connection: socket.socket, upstream: "Upstream") -> None:
        self.connection = connection
        self.upstream = upstream

    def read_request(self) -> bytes:
        """Head and body of the next request; empty when the client has gone."""
        data = b""
        while b"\r\n\r\n" not in data:
            received = self.connection.recv(65536)
            if not received:
                return b""
            data += received
        head, _, body = data.partition(b"\r\n\r\n")
        while len(body) < _content_length(head):
            body += self.connection.recv(65536)
        request = head + b"\r\n\r\n" + body
        self.upstream.requests.append(request)
        return request

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def drip(self, data: bytes, *, every: float) -> None:
        """One byte at a time until all is sent or the test ends."""
        for position in range(len(data)):
            self.send(data[position : position + 1])
            if self.upstream.stopping.wait(every):
                return


class Upstream:
    """Listens on a free port and runs the handler on a thread per connection."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.connections = 0
        self.requests: list[bytes] = []
        self.stopping = threading.Event()
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.authority}"

    def close(self) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(timeout=5)

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client that hangs up in the middle is what many tests are about.
        with contextlib.suppress(OSError), connection:
            if self._tls is None:
                self._handler(Call(connection, self))
                return
            with self._tls.wrap_socket(connection, server_side=True) as secured:
                self._handler(Call(secured, self))


@contextlib.contextmanager
def upstream(handler: Handler, tls: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    server = Upstream(handler, tls)
    try:
        yield server
    finally:
        server.close()


def http_answer(body: bytes = b"ok", *, status: str = "200 OK", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def answering(*answers: bytes) -> Handler:
    """Answer requests of one connection in turn, the last answer for ever."""

    def handle(call: Call) -> None:
        turn = 0
        while call.read_request():
            call.send(answers[min(turn, len(answers) - 1)])
            turn += 1

    return handle


def redirecting(location: str, *, status: str = "302 Found") -> Handler:
    return answering(http_answer(b"", status=status, headers=f"Location: {location}\r\n"))


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0
