"""A machine that does everything in any order finds no forbidden path (D1-D4).

`make test` takes a few hundred steps, always the same. The long run takes other ones each time:
`CONTEXTOS_MACHINE_STEPS=50000 .venv/bin/python -m pytest tests/approvals/test_state_machine.py`;
what it did stands in build/approval-machine.json.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from django.test import override_settings
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from contextos.core import strict_json
from gateway.connectors.function.connector import runner_pool
from tests.approvals.machine import ApprovalMachine
from tests.approvals.machine_frame import done
from tests.architecture.source import ROOT
from tests.gateway.order_functions import LEDGER

STEPS = int(os.environ.get("CONTEXTOS_MACHINE_STEPS", "300"))
STEPS_EACH = 50 if STEPS < 1000 else 200


@pytest.fixture
def blunt_payments() -> Iterator[None]:
    """A function that never deduplicates: every call of it is an effect."""
    runner_pool.cache_clear()
    modules = ("tests.gateway.order_functions", "tests.approvals.blunt_payments")
    with override_settings(CONTEXTOS_FUNCTION_MODULES=modules, FUNCTION_RUNNERS=1):
        yield
        runner_pool().close()
    runner_pool.cache_clear()
    LEDGER.unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.usefixtures("blunt_payments")
@pytest.mark.proves("C5", "C9", "D1", "D2", "D3", "D4")
def test_no_forbidden_path_is_found() -> None:
    done.clear()
    while done["step"] < STEPS:  # a walk may end before its last step
        run_state_machine_as_test(ApprovalMachine, settings=_walks(STEPS - done["step"]))
    if STEPS >= 1000:
        report = ROOT / "build" / "approval-machine.json"
        report.parent.mkdir(exist_ok=True)
        report.write_text(strict_json.dumps(dict(done.most_common())))
        assert min(done[name] for name in ("request", "vote", "effect")) > STEPS / 1000


def _walks(steps: int) -> settings:
    return settings(
        max_examples=-(-steps // STEPS_EACH),
        stateful_step_count=STEPS_EACH,
        deadline=None,
        database=None,
        derandomize=STEPS < 1000,
        phases=[Phase.generate] if STEPS >= 1000 else [Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
