"""What governing a call costs: direct and governed reads in one interleaved run, on PostgreSQL."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.connectors.function.frames import Patience
from gateway.connectors.function.pool import RunnerPool
from registry.compiled import RunTerms, compile_run, packs_for_run, pins_for_run
from registry.selectors import generation_of
from tests.bench.filled_tables import insert_cost_ratio
from tests.bench.measure import Row, in_turns, median_ms
from tests.bench.served import FUNCTIONS, Served, served
from tests.gateway.world import INTENT, GatewayWorld
from tests.registry.documents import pack_permitting, permission
from tests.registry.house import House
from tests.registry.manifests import many
from tests.registry.walks import pack_walk

PROBE_ROW = "machine_probe_cpu_ms"
USUAL_PROBE_MS = 0.4  # CPU of one /healthz on the machine and at the hour the bars were set
_TURNS = 10
_WINDOWS = 3  # of which the median counts
_PROBES_PER_CALL = 2
_DIRECT = {
    "function": "examples.orders:lookup",
    "action": "invoke",
    "args": {"order_id": "ord_0001"},
    "call": {
        "tool_call_id": "tool_direct",
        "tenant_id": "tenant_direct",
        "capability_id": "orders.lookup",
        "attempt": 1,
    },
}


def gateway_rows(*, quick: bool) -> Iterator[Row]:
    """Every row of the gateway; quick runs call less often."""
    world = GatewayWorld()
    with served(world) as gateway:
        yield from _added_rows(gateway, calls=200 if quick else 2000)
        for threads in (8, 32):
            yield _throughput_row(gateway, threads, seconds=2.1 if quick else 15.0)
        yield Row("errors", gateway.errors, "answers", must=0, aim=0)
    yield Row(
        "insert_cost_ratio",
        insert_cost_ratio(world, full=10_000 if quick else 1_000_000, calls=200 if quick else 1600),
        "x",
        must=1.2,
        aim=1.1,
    )
    yield _compile_row(3 if quick else 11)


def _added_rows(gateway: Served, *, calls: int) -> Iterator[Row]:
    """Direct and governed calls take turns, and so do probes with both: what the server costs
    before anything is decided tells how fast the machine is at this hour."""
    runner = RunnerPool([FUNCTIONS], size=1)
    direct, governed = list[float](), list[float]()
    for _ in range(20):  # caches, connections, runners
        _ask(runner)
        gateway.lookup()
        gateway.probe()
    deciding, probing = list[float](), list[float]()
    for _ in range(_TURNS):
        with _cpu_of(gateway, calls // _TURNS) as spent:
            alone, ours = in_turns(lambda: _ask(runner), gateway.lookup, calls=calls // _TURNS)
        direct += alone
        governed += ours
        deciding.append(spent[0])
        with _cpu_of(gateway, _PROBES_PER_CALL * calls // _TURNS) as spent:
            for _ in range(_PROBES_PER_CALL * calls // _TURNS):
                gateway.probe()
        probing.append(spent[0])
    runner.close()
    added = (statistics.median(governed) - statistics.median(direct)) * 1000
    a_call, a_probe = statistics.mean(deciding), statistics.mean(probing)  # the clock is coarse
    yield Row("read_only_added_p50_ms", added, "ms", must=6, aim=4.5)
    yield Row("gateway_cpu_ms_per_call", a_call, "ms", must=4, aim=2.5)
    yield Row(PROBE_ROW, a_probe, "ms", must=2 * USUAL_PROBE_MS, aim=USUAL_PROBE_MS)
    yield Row(
        "gateway_cpu_in_probes",
        a_call / a_probe,
        "x",
        must=4 / USUAL_PROBE_MS,
        aim=2.5 / USUAL_PROBE_MS,
    )


@contextmanager
def _cpu_of(gateway: Served, answers: int) -> Iterator[list[float]]:
    """What the process that answers spends on each of them inside the block, in milliseconds."""
    spent = [gateway.cpu_seconds()]
    yield spent
    spent[0] = (gateway.cpu_seconds() - spent[0]) / answers * 1000


def _ask(runner: RunnerPool) -> None:
    runner.ask(_DIRECT, Patience(time.monotonic() + 5))


def _throughput_row(gateway: Served, threads: int, *, seconds: float) -> Row:
    """Callers that have their connection and their run already; the median of a few windows."""
    ended = list[float]()
    ready = threading.Barrier(threads + 1)

    def call_on() -> None:
        gateway.lookup()
        ready.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            gateway.lookup()
            ended.append(time.monotonic())

    callers = [threading.Thread(target=call_on) for _ in range(threads)]
    for caller in callers:
        caller.start()
    ready.wait()
    started = time.monotonic()
    for caller in callers:
        caller.join()
    window = seconds / _WINDOWS
    counts = Counter(int((moment - started) / window) for moment in ended)
    rate = statistics.median(counts[number] / window for number in range(_WINDOWS))
    name = f"throughput_{threads}_per_s"
    return Row(name, rate, "calls/s", must=250, aim=400, higher_is_better=True)


def _compile_row(repeats: int) -> Row:
    """A run's manifest over a thousand permitted capabilities, from documents that were opened."""
    house = House()
    house.published(many(1000))
    grants = [permission("adp_orders", f"lookup_{number}") for number in range(1000)]
    pack_walk(house).published(pack_permitting(*grants))
    tenant_id, generation = house.tenant_id, generation_of(house.tenant_id)
    packs = packs_for_run(tenant_id=tenant_id, intent=INTENT, generation=generation)
    where = {"tenant_id": tenant_id, "environment": "production"}
    pins = pins_for_run(**where, generation=generation, pack_refs=packs)
    terms = RunTerms.of(**where, intent=INTENT, role="support_agent", pack_refs=packs, pins=pins)

    def compiled() -> int:
        return len(compile_run(terms, generation).manifest_hash)

    if len(compile_run(terms, generation).permitted) != 1000:
        raise RuntimeError("the run may not call all thousand")
    value = median_ms(compiled, repeats=repeats)
    return Row("manifest_compile_1000_ms", value, "ms", must=20, aim=5)
