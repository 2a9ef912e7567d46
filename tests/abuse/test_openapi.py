"""The product does what its own API description says, whatever is thrown at it .

The short form runs in `make e2e`; CONTEXTOS_ABUSE_LONG=1 makes it ten thousand cases and more.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.abuse.fuzzing import Seen, attack, description_of
from tests.bench.served import served
from tests.gateway.world import GatewayWorld

LONG = bool(os.environ.get("CONTEXTOS_ABUSE_LONG"))
EXAMPLES = 40 if LONG else 4
LEAST_CASES = 5_000 if LONG else 300  # for each of the two callers
# A good request may still be refused for what it means: a cursor of another list, a manifest with
# findings, a state that does not allow it. What it may not do is fall outside these.
_MEANING = ["2xx", "400", "401", "403", "404", "409", "422", "429", "502", "503"]
_REFUSED = ["400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429", "503"]
TERMS: dict[str, Any] = {
    "continue-on-failure": True,
    "generation": {"max-examples": EXAMPLES, "no-shrink": not LONG, "database": "none"},
    "checks": {
        # These stand for a server that is not ours; `Seen` takes them from discovery alone.
        "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "502", "503", "504"]},
        "positive_data_acceptance": {"expected-statuses": _MEANING},
        "negative_data_rejection": {"expected-statuses": _REFUSED},
    },
}
SHORT_PHASES = {"phases": {"coverage": {"enabled": False}}}


@pytest.fixture
def world(transactional_db: None) -> GatewayWorld:
    if connection.vendor != "postgresql":
        pytest.skip("the served product needs a database that two processes can write to")
    return GatewayWorld(with_work=True)


def _headers(world: GatewayWorld, who: str) -> dict[str, str]:
    token = world.agent_token if who == "agent" else world.house.token(who)
    return {"Authorization": f"Bearer {token}"}


def _attacked(world: GatewayWorld, who: str, log: Path) -> Seen:
    known = {"path.run_id": world.open_run()["run_id"], "path.adapter_id": "adp_orders"}
    terms = {**TERMS, "parameters": known, **({} if LONG else SHORT_PHASES)}
    with served(world, log=log) as product:
        url = f"http://127.0.0.1:{product.port}"
        return attack(url, description_of(url), _headers(world, who), terms)


@pytest.mark.live
@pytest.mark.parametrize("who", ["agent", "admin"])
def test_no_answer_differs_from_the_description(
    world: GatewayWorld, who: str, tmp_path: Path
) -> None:
    log = tmp_path / "web.log"
    seen = _attacked(world, who, log)
    said = "\n\n".join(f"{name}\n{what}" for name, what in sorted(seen.faults.items()))
    assert not seen.faults, f"{seen.cases} cases, {dict(seen.statuses)}\n{said}"
    assert seen.errors == []
    assert seen.server_errors == {}
    assert seen.cases >= LEAST_CASES
    assert "Traceback" not in log.read_text()
