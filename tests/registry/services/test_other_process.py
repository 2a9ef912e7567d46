"""A change made here is obeyed by the next call in a process that has been warm for long."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import pytest
from django.conf import settings
from django.db import connection

from registry.services.kill_switches import lift_switch
from tests.registry.house import House
from tests.registry.manifests import many, orders

# What the registry does for each call: read the number, then look into memory.
WORKER = """
import sys
import django
django.setup()
from tests.registry.offered import offered
for line in sys.stdin:
    tenant_id, capability_id = line.split()
    offer = offered(tenant_id).get(capability_id)
    if offer is None:
        answer = "unknown"
    elif offer.refusal:
        answer = offer.refusal.message
    else:
        answer = f"runs {offer.capability.version}"
    print(answer, flush=True)
"""
pytestmark = pytest.mark.django_db(transaction=True)


def _database_url() -> str:
    chosen = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{chosen['NAME']}"
    host, port = chosen["HOST"] or "127.0.0.1", chosen["PORT"] or 5432
    password = f":{chosen['PASSWORD']}" if chosen["PASSWORD"] else ""
    return f"postgresql://{chosen['USER']}{password}@{host}:{port}/{chosen['NAME']}"


class Worker:
    """The other process, asked one capability at a time."""

    def __init__(self, process: subprocess.Popen[str], stdin: IO[str], stdout: IO[str]) -> None:
        self._process, self._stdin, self._stdout = process, stdin, stdout

    def resolve(self, house: House, capability_id: str) -> str:
        self._stdin.write(f"{house.tenant_id} {capability_id}\n")
        self._stdin.flush()
        return self._stdout.readline().strip()


@pytest.fixture
def worker() -> Iterator[Worker]:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "contextos.settings.test",
        "DATABASE_URL": _database_url(),
        "CONTEXTOS_KEYS_DIR": str(settings.KEYS_DIR),
    }
    with subprocess.Popen(
        [sys.executable, "-c", WORKER],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            pytest.fail("the other process has no pipes")
        yield Worker(process, process.stdin, process.stdout)
        process.stdin.close()
        process.wait(timeout=30)


@pytest.mark.proves("B17", "B19")
def test_switches_publications_and_rollbacks_reach_a_warm_process(worker: Worker) -> None:
    house = House()
    operator = house.actor("operator")
    first = house.published(many(2))
    assert worker.resolve(house, "orders.lookup_0") == "runs 1.0.0"

    targets = {
        "capability": "orders.lookup_0",
        "version": first.version_id,
        "adapter": "adp_orders",
        "tenant": house.tenant_id,
    }
    for scope, target in targets.items():
        switch = house.throw(scope, target, reason=f"Stopped by {scope}.")
        answer = worker.resolve(house, "orders.lookup_0")
        assert answer.endswith(f" is switched off: Stopped by {scope}.")
        lift_switch(switch_id=switch.pk, actor=operator, reason="Fixed.")
        assert worker.resolve(house, "orders.lookup_0") == "runs 1.0.0"

    house.published(orders())
    assert worker.resolve(house, "orders.lookup_0") == "unknown"
    assert worker.resolve(house, "orders.lookup") == "runs 1.1.0"
    house.publish(house.fresh(first))
    assert worker.resolve(house, "orders.lookup_0") == "runs 1.0.0"
    house.retire(house.fresh(first))
    assert worker.resolve(house, "orders.lookup_0") == "unknown"
