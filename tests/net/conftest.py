"""Fixtures of the network door: a listener nobody may reach and a record of every dial."""

import socket
from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.net import Address, EgressRule, close_pools
from tests.net.upstreams import Upstream, answering, http_answer, upstream


class FixedResolver:
    """Answers from a table and remembers what it was asked."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = {name.replace("_", "."): list(rows) for name, rows in answers.items()}
        self.asked: list[str] = []

    def resolve(self, host: str, port: int, timeout: float) -> list[Address]:
        self.asked.append(host)
        return [ip_address(row) for row in self.answers.get(host, [])]


@pytest.fixture(autouse=True)
def _closed_pools() -> Iterator[None]:
    yield
    close_pools()


@pytest.fixture
def greeter() -> Iterator[Upstream]:
    """A well-behaved server that keeps connections open."""
    with upstream(answering(http_answer())) as server:
        yield server


@pytest.fixture
def dials(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records every connect of the process and lets none through."""
    seen: list[Any] = []

    def refuse(self: socket.socket, address: Any) -> None:
        seen.append(address)
        raise OSError(101, "Network is unreachable")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    return seen


def local_rule(*hosts: str) -> EgressRule:
    """A development rule: plain http and private hosts, but only those listed."""
    return EgressRule(hosts=hosts, allow_private=True, https_required=False)


def failure_of(action: Callable[[], object]) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        action()
    return caught.value
