"""Lookups: a rebinding name server, bad answers, slow answers."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import pytest
from dnslib import AAAA, QTYPE, RR, A, DNSRecord
from dnslib.server import BaseResolver, DNSLogger, DNSServer

from contextos.net import Address, EgressRule, SystemResolver, open_client
from tests.net.conftest import FixedResolver, failure_of, local_rule
from tests.net.upstreams import Upstream


@dataclass
class RebindingZone(BaseResolver):  # type: ignore[misc]
    """Gives each query the next set of addresses of its list, then the last one for ever."""

    turns: list[list[str]]
    asked: list[str] = field(default_factory=list)

    def resolve(self, request: DNSRecord, handler: object) -> DNSRecord:
        rows = self.turns[min(len(self.asked), len(self.turns) - 1)]
        self.asked.append(str(request.q.qname))
        reply = request.reply()
        for row in rows:
            kind, data = (QTYPE.AAAA, AAAA(row)) if ":" in row else (QTYPE.A, A(row))
            reply.add_answer(RR(request.q.qname, kind, rdata=data, ttl=0))
        return reply


@dataclass(eq=False)
class LoopbackDns:
    """A resolver that really asks the name server, once per lookup."""

    port: int

    def resolve(self, host: str, port: int, timeout: float) -> list[Address]:
        packet = DNSRecord.question(host).send("127.0.0.1", self.port, timeout=timeout)
        return [ip_address(str(row.rdata)) for row in DNSRecord.parse(packet).rr]


@pytest.fixture
def zone() -> RebindingZone:
    return RebindingZone(turns=[["93.184.216.34"], ["127.0.0.1"]])


@pytest.fixture
def name_server(zone: RebindingZone) -> Iterator[LoopbackDns]:
    server = DNSServer(zone, address="127.0.0.1", port=0, logger=DNSLogger("", prefix=False))
    server.start_thread()
    yield LoopbackDns(server.server.server_address[1])
    server.stop()
    server.server.server_close()


@pytest.mark.proves("C11")
def test_a_rebinding_name_is_dialled_at_the_judged_address_only(
    name_server: LoopbackDns, zone: RebindingZone, greeter: Upstream, dials: list[Any]
) -> None:
    host = f"rebind.example:{greeter.port}"
    rule = EgressRule(hosts=(host,), https_required=False)
    client = open_client(rule, resolver=name_server)

    first = failure_of(lambda: client.request("GET", f"http://{host}/"))
    assert first.code == "egress.connect_failed"
    assert dials == [("93.184.216.34", greeter.port)]
    assert zone.asked == ["rebind.example."], "the name is looked up once per connection"

    second = failure_of(lambda: client.request("GET", f"http://{host}/"))
    assert (second.code, second.data["ip"]) == ("egress.private_address", "127.0.0.1")
    assert len(dials) == 1
    assert greeter.connections == 0


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    "rows",
    [
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["93.184.216.34", "::1"],
        ["2606:4700::1111", "::ffff:7f00:1"],
        ["93.184.216.34", "1.1.1.1", "169.254.169.254"],
    ],
)
def test_a_set_of_answers_with_one_bad_address_is_refused(
    rows: list[str],
    name_server: LoopbackDns,
    zone: RebindingZone,
    greeter: Upstream,
    dials: list[Any],
) -> None:
    zone.turns[:] = [rows]
    host = f"mixed.example:{greeter.port}"
    client = open_client(EgressRule(hosts=(host,), https_required=False), resolver=name_server)
    error = failure_of(lambda: client.request("GET", f"http://{host}/"))
    assert error.code == "egress.private_address"
    assert dials == []
    assert greeter.connections == 0


def test_a_kept_connection_asks_no_second_answer(
    name_server: LoopbackDns, zone: RebindingZone, greeter: Upstream
) -> None:
    zone.turns[:] = [["127.0.0.1"], ["169.254.169.254"]]
    host = f"steady.example:{greeter.port}"
    client = open_client(local_rule(host), resolver=name_server)
    for _ in range(3):
        assert client.request("GET", f"http://{host}/").peer_ip == "127.0.0.1"
    assert (greeter.connections, len(zone.asked)) == (1, 1)


def test_a_name_without_an_address_is_said_so(dials: list[Any]) -> None:
    client = open_client(EgressRule(hosts=("api.example",)), resolver=FixedResolver())
    error = failure_of(lambda: client.request("GET", "https://api.example/"))
    assert error.code == "egress.unresolvable"


def test_the_system_resolver_answers_for_localhost() -> None:
    found = SystemResolver().resolve("localhost", 80, 5.0)
    assert ip_address("127.0.0.1") in found or ip_address("::1") in found


def test_the_system_resolver_reports_a_failed_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> object:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    error = failure_of(lambda: SystemResolver().resolve("nowhere.example", 443, 5.0))
    assert error.code == "egress.unresolvable"


def test_hanging_lookups_time_out_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    released, running = threading.Event(), []

    def hang(host: str, *args: object, **options: object) -> list[Any]:
        running.append(host)
        released.wait(10)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    resolver = SystemResolver(max_lookups=2)
    try:
        for turn in range(4):
            error = failure_of(lambda turn=turn: resolver.resolve(f"{turn}.example", 443, 0.05))  # type: ignore[misc]
            assert (error.code, error.data["phase"]) == ("egress.deadline", "resolve")
        assert running == ["0.example", "1.example"], "no third lookup while two hang"
    finally:
        released.set()


def test_the_next_address_is_tried_when_the_first_does_not_answer(greeter: Upstream) -> None:
    host = f"api.example:{greeter.port}"
    resolver = FixedResolver(api_example=["::1", "127.0.0.1"])
    client = open_client(local_rule(host), resolver=resolver)
    assert client.request("GET", f"http://{host}/").peer_ip == "127.0.0.1"
