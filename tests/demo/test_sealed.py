"""The running product seals what it records: within a second, and to the last row when it stops."""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.audit.test_proof_guide import snippet
from tests.demo.running import Demo, clean_environment, manage, start_demo
from tests.demo.waiting import agent_of

pytestmark = [pytest.mark.live, pytest.mark.proves("E2")]
CALLS = 20


def _lookup(demo: Demo, agent: httpx.Client, run_id: str) -> dict[str, Any]:
    call = {
        "run_id": run_id,
        "capability_id": "payments.lookup_transaction",
        "args": {"transaction_id": "txn_4200"},
    }
    return dict(agent.post(f"{demo.url}/api/v1/tool-calls", json=call).json())


def _sealed_after(demo: Demo, agent: httpx.Client, decision_id: str) -> float:
    """Seconds until every row of the decision stands under a signed checkpoint."""
    began = time.monotonic()
    address = f"{demo.url}/api/v1/decision-records/{decision_id}/proof"
    while len(agent.get(address).json().get("results", ())) < 2:
        assert time.monotonic() - began < 30
    return time.monotonic() - began


def test_a_call_is_sealed_within_a_second_and_all_of_it_when_the_product_stops(
    tmp_path: Path,
) -> None:
    demo = start_demo(tmp_path / "data")
    try:
        with agent_of(demo) as agent:
            run = {"tenant_id": demo.ready["tenant_id"], "intent": "support.refund"}
            run_id = agent.post(f"{demo.url}/api/v1/runs", json=run).json()["run_id"]
            waited, decision_id = [], ""
            for _ in range(CALLS):
                decision_id = _lookup(demo, agent, run_id)["decision_id"]
                waited.append(_sealed_after(demo, agent, decision_id))
            sys.stderr.write(f"sealed after: median {statistics.median(waited):.3f} s\n")
            assert statistics.median(waited) < 1.0
            _check_with_twenty_lines(demo, decision_id, tmp_path)
            for _ in range(5):
                _lookup(demo, agent, run_id)
    finally:
        demo.stop()
    _nothing_waits(demo)
    checked = manage("verify_log", "--data-dir", str(demo.data_dir))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{demo.ready['tenant_id']}: as signed" in checked.stdout


def _check_with_twenty_lines(demo: Demo, decision_id: str, folder: Path) -> None:
    """As the guide tells auditors, against the running product."""
    issued = manage(
        "issue_token", "--user", "auditor", "--tenant", demo.ready["tenant_id"],
        "--data-dir", str(demo.data_dir),
    )  # fmt: skip
    token = issued.stdout.splitlines()[0]
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{demo.url}/api/v1/", headers=headers, trust_env=False) as auditor:
        row = auditor.get(f"decision-records/{decision_id}").json()["rows"][1]
        proof = auditor.get(f"decision-records/{decision_id}/proof").json()["results"][1]
        key = auditor.get("log/keys").json()["keys"][-1]
    assert (row["log_index"], row["record"]["seq"]) == (proof["log_index"], proof["seq"])
    for name, content in (("record", row["record"]), ("proof", proof), ("key", key)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "check.py").write_text(snippet())
    done = subprocess.run(
        [sys.executable, "-I", "check.py", "record.json", "proof.json", "key.json"],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _nothing_waits(demo: Demo) -> None:
    with sqlite3.connect(demo.data_dir / "contextos.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM audit_unsealedleaf").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM audit_logleaf").fetchone() > (CALLS,)
