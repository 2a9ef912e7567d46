"""The log at size: leaves sealed a second, how long a proof takes, rows verified a second."""

from __future__ import annotations

import hashlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import override_settings

from audit.decision_record import CapabilityFacts, DecisionFacts, LineageFacts, as_record
from audit.decision_record import derived_columns as columns_of
from audit.event_record import hashed_text, leaf_hash
from audit.log import inclusion_proof
from audit.models import DecisionBody, DecisionRow, LogHead, UnsealedLeaf
from audit.sealer import Sealer
from audit.verifying.log import verify_tenant
from audit.verifying.processes import usual_jobs
from audit.verifying.rows import BLOCK
from contextos.core.clock import format_time, utcnow
from contextos.core.ids import new_id, timed_id
from tests.audit.logs import MOMENT, facts
from tests.bench.measure import Row, p95_ms, settle

_QUICK_RECORDS = 8 * BLOCK  # as much work for one process as for another
_HASH = "sha256:" + "0123456789abcdef" * 4
SEALED, VERIFIED = "tenant_bench_sealed", "tenant_bench_verified"


def log_rows(*, quick: bool) -> Iterator[Row]:
    """Every row of the log; quick runs have smaller logs."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"CHECKPOINTS_DIR": Path(folder) / "outside", "KEYS_DIR": Path(folder) / "keys"}
        with override_settings(**places):
            yield _sealing_row(20_000 if quick else 1_000_000)
            yield _proof_row(repeats=60 if quick else 300)
            records, checks = (_QUICK_RECORDS, 3) if quick else (200_000, 5)
            yield _verify_row(records, places["CHECKPOINTS_DIR"], checks=checks)


def _sealing_row(leaves: int) -> Row:
    """Leaves that wait, until none does: with every insert, hash, signature and file."""
    now = utcnow()
    _copy(
        UnsealedLeaf,
        ((new_id("rec"), SEALED, hashlib.sha256(b"%d" % n).digest(), now) for n in range(leaves)),
        ("leaf_id", "tenant_id", "leaf_hash", "created_at"),
    )
    sealer, began = Sealer(), time.perf_counter()
    while sealer.round():
        pass
    rate = leaves / (time.perf_counter() - began)
    return Row("sealing_leaves_per_s", rate, "leaves/s", must=500, aim=5000, higher_is_better=True)


def _proof_row(*, repeats: int) -> Row:
    size = LogHead.objects.get(pk=SEALED).tree_size
    places = iter([(number * 7919) % size for number in range(repeats + 1)])

    def prove() -> None:
        inclusion_proof(tenant_id=SEALED, index=next(places), size=size - 1)

    return Row("proof_p95_ms", p95_ms(prove, repeats=repeats), "ms", must=50, aim=10)


def _verify_row(records: int, outside: Path, *, checks: int) -> Row:
    """Full records as a governed call writes them, read by as many processes as the command; the
    median of some checks."""
    fill_records(records)
    sealer = Sealer()
    while sealer.round():
        pass
    settle()
    rate = statistics.median(_verified_per_s(records, outside) for _ in range(checks))
    return Row("verify_rows_per_s", rate, "rows/s", must=50_000, aim=100_000, higher_is_better=True)


def _verified_per_s(records: int, outside: Path) -> float:
    began = time.perf_counter()
    report = verify_tenant(VERIFIED, outside=outside, jobs=usual_jobs())
    rate = report.checked / (time.perf_counter() - began)
    if report.findings or report.checked != records:
        raise RuntimeError(f"the log was not as signed: {report.findings[:3]}")
    return rate


def fill_records(records: int, *, first: int = 0) -> None:
    """As many records of one tenant, unsealed."""
    heads, bodies, waiting = [], [], []
    for number in range(first, first + records):
        record_id, head, text, leaf = _record(number)
        heads.append((record_id, *head.values(), leaf))
        bodies.append((record_id, head["created_at"], text))
        waiting.append((record_id, VERIFIED, leaf, head["created_at"]))
    _copy(DecisionRow, heads, ("record_id", *head, "leaf_hash"))
    _copy(DecisionBody, bodies, ("record_id", "created_at", "text"))
    _copy(UnsealedLeaf, waiting, ("leaf_id", "tenant_id", "leaf_hash", "created_at"))


def _record(number: int) -> tuple[str, dict[str, Any], str, bytes]:
    # A millisecond apart: ids, heads and texts then lie in one order, as calls write them.
    moment = MOMENT + timedelta(milliseconds=number)
    own = {"decision_id": f"dec_bench{number:020d}", "created_at": format_time(moment)}
    record = {**_TEMPLATE, **own}
    text = hashed_text(record)
    return timed_id("rec", moment, order=1), columns_of(record), text, leaf_hash(text)


def _full() -> DecisionFacts:
    """As long as the record of an approved read with lineage, policy and commitments."""
    return facts(
        VERIFIED,
        capability=CapabilityFacts(
            id="payments.lookup_transaction",
            cls="observe",
            mode_requested="read_only",
            mode_effective="read_only",
            mode_highest="read_only",
        ),
        lineage=LineageFacts(
            adapter_id="adp_payments",
            adapter_version="1.0.0",
            manifest_hash=_HASH,
            pack_ref="support_refund@1.0.0",
            pack_hash=_HASH,
            policy_bundles=[{"bundle_id": "bundle_refunds", "version": "1.0.0", "hash": _HASH}],
            protocol="mcp",
            protocol_version="2025-11-25",
            server={"name": "payments", "version": "1.0"},
            runtime_build="contextos 1.0",
        ),
        policy_decision={
            "policy_decision_id": new_id("pol"),
            "evaluated_at": "2026-11-16T12:00:00.123Z",
            "allowed": True,
            "reason": "mode.default",
            "effective_approval_mode": "read_only",
            "requires_approval_gate": None,
            "quorum": None,
            "requires": [],
            "prohibits": [],
            "arg_constraints": {},
            "matched_rule_ids": [],
            "bundle_versions": ["bundle_refunds@1.0.0"],
            "inputs_hash": _HASH,
        },
        trace_id="0" * 32,
        span_id="1" * 16,
        args_commitment=_HASH,
        idempotency={"key_hash": None, "fingerprint": _HASH, "replayed": False},
        egress={"host": "payments.example", "ip": "203.0.113.7"},
        tool_call_hash=_HASH,
        tool_result_hash=_HASH,
        attempts=1,
        scorecard={"verdict": "accept", "findings": []},
        controls_active=["policy", "schema", "budget", "rate", "breaker"],
    )


def _copy(model: Any, rows: Any, columns: tuple[str, ...]) -> None:
    """Straight into the table: what is measured is sealing and verifying, not this."""
    table, names = model._meta.db_table, ", ".join(columns)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(f"ANALYZE {table}")
        else:
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(rows))


_TEMPLATE = as_record(_full())
