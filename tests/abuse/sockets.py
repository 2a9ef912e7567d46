"""Many sockets at once: raw HTTP over asyncio, each with one request and one verdict."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one socket ended: a status with its headers, or why there was none."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    @property
    def names_a_time(self) -> bool:
        """Whether a refusal says when to come back."""
        return self.headers.get("retry-after", "").isdigit()


def request_text(port: int, token: str, path: str, body: object) -> bytes:
    """One whole request that ends its connection."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + content


def burst(port: int, requests: Sequence[bytes]) -> tuple[list[Verdict], float]:
    """Open one socket a request, send all at the same moment; verdicts, and when all were sent."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return asyncio.run(_burst(port, requests))


async def _burst(port: int, requests: Sequence[bytes]) -> tuple[list[Verdict], float]:
    sent: list[float] = []
    ends = await asyncio.gather(*(_one(port, text, sent) for text in requests))
    return list(ends), max(sent, default=time.monotonic())


async def _one(port: int, text: bytes, sent: list[float]) -> Verdict:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(text)
                await writer.drain()
                sent.append(time.monotonic())
                return _verdict(await reader.read())
            finally:
                writer.close()
    except (OSError, TimeoutError) as fault:
        return Verdict(fault=type(fault).__name__)


def _verdict(answer: bytes) -> Verdict:
    head = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    if not head[0].startswith("HTTP/1.1 "):
        return Verdict(fault="no answer")
    pairs = (line.partition(":") for line in head[1:])
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return Verdict(int(head[0].split()[1]), headers)


def summed_up(verdicts: Sequence[Verdict]) -> Counter[str]:
    """How many ended how."""
    return Counter(verdict.fault or str(verdict.status) for verdict in verdicts)
