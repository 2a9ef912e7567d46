"""Pools: connections are reused, shared by equal rules only, and left behind at a fork."""

import os
import socket
import threading
from collections.abc import Callable

from contextos.net import EgressRule, close_pools, open_client
from contextos.net.pools import PoolKey, PoolRegistry, registry
from tests.net.conftest import local_rule
from tests.net.upstreams import Call, Upstream, http_answer, upstream


def test_many_requests_use_one_connection(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    for _ in range(20):
        assert client.request("GET", greeter.url).content == b"ok"
    assert (greeter.connections, len(greeter.requests)) == (1, 20)


def test_clients_of_an_equal_rule_share_connections(greeter: Upstream) -> None:
    for _ in range(5):
        open_client(local_rule(greeter.authority)).request("GET", greeter.url)
    assert greeter.connections == 1


def test_clients_of_another_rule_do_not(greeter: Upstream) -> None:
    open_client(local_rule(greeter.authority)).request("GET", greeter.url)
    open_client(local_rule(greeter.authority, "more.example")).request("GET", greeter.url)
    assert greeter.connections == 2


def test_a_client_is_shared_by_threads(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    statuses: list[int] = []

    def work() -> None:
        statuses.extend(client.request("GET", greeter.url).status for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 80
    assert greeter.connections <= 8


def test_a_connection_closed_by_the_host_is_replaced() -> None:
    closed = threading.Event()

    def one_answer(call: Call) -> None:
        call.read_request()
        call.send(http_answer())
        call.connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with upstream(one_answer) as server:
        client = open_client(local_rule(server.authority))
        for expected in (1, 2, 3):
            assert client.request("GET", server.url).status == 200
            assert server.connections == expected
            assert closed.wait(5)
            closed.clear()


def test_closing_pools_ends_connections_and_the_next_request_reopens(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    client.request("GET", greeter.url)
    close_pools()
    assert len(registry()) == 0
    assert client.request("GET", greeter.url).status == 200
    assert greeter.connections == 2


def test_pools_in_use_outlive_their_closing(greeter: Upstream) -> None:
    pools = PoolRegistry()
    key = PoolKey(local_rule(greeter.authority))
    with pools.lease(key) as pool:
        with pool.stream("GET", greeter.url) as answer:
            pools.close()
            assert answer.read() == b"ok"
        assert len(pool.connections) == 1
    assert pool.connections == []


def test_the_number_of_pools_is_bounded() -> None:
    pools = PoolRegistry(max_pools=3)
    keys = [PoolKey(EgressRule(hosts=(f"host{number}.example",))) for number in range(5)]
    for key in keys:
        with pools.lease(key):
            pass
    assert len(pools) == 3
    pools.close()


def test_a_forked_child_opens_its_own_connection(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    client.request("GET", greeter.url)
    before = registry()

    def child() -> bool:
        fresh = registry() is not before and len(registry()) == 0
        return fresh and client.request("GET", greeter.url).content == b"ok"

    assert run_in_fork(child)
    assert greeter.connections == 2, "the child did not write into its parent's connection"
    assert client.request("GET", greeter.url).status == 200
    assert greeter.connections == 2, "the parent still uses its own"


def test_a_fork_while_the_registry_is_locked_does_not_hang_the_child(greeter: Upstream) -> None:
    client = open_client(local_rule(greeter.authority))
    client.request("GET", greeter.url)
    with registry()._lock:
        assert run_in_fork(lambda: client.request("GET", greeter.url).content == b"ok")


def run_in_fork(action: Callable[[], bool]) -> bool:
    """Whether the action came out true in a forked child; it is killed if it hangs."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if action() else 1
        finally:
            os._exit(code)
    watchdog = threading.Timer(10, os.kill, (pid, 9))
    watchdog.start()
    _, status = os.waitpid(pid, 0)
    watchdog.cancel()
    return os.waitstatus_to_exitcode(status) == 0
