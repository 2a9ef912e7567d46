"""A million decision rows of one tenant, written by SQL, and searches of every combination.

PostgreSQL only. The rows are like those of a busy year: two to a decision, forty capabilities,
fifty agents, two thousand people; rules, approvers and amounts where real calls have them.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from audit.access import Window
from audit.clearance import Clearance
from audit.models import DecisionRow
from audit.record_filter import RecordFilter, read_filter
from audit.search import estimated_count, page_of_records

TENANT = "tenant_many"
START = datetime(2026, 1, 1, tzinfo=UTC)
YEAR_MS = 300 * 86_400_000
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_EPOCH_MS = 1_577_836_800_000
_ENDINGS = (
    "(array['EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED',"
    "'EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED','EXECUTED',"
    "'EXECUTED','FAILED','REJECTED','REJECTED','EXPIRED'])[1 + h % 20]"
)


def fill(rows: int) -> None:
    """Write the rows with what they mention, and tell the planner about them."""
    ms = int(START.timestamp() * 1000) - _EPOCH_MS
    step = YEAR_MS // rows // 4 * 4
    letters = "||".join(
        f"substr('{_ALPHABET}', ((q >> {shift}) & 31)::int + 1, 1)" for shift in range(35, -1, -5)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMP TABLE seed AS SELECT n, n / 2 AS d, n % 2 + 1 AS s, "
            f"({ms}::bigint + n::bigint * {step}) >> 2 AS q, "
            f"abs(hashint4((n / 2)::int)) AS h FROM generate_series(2, {rows} + 1) n"
        )
        cursor.execute(
            "CREATE TEMP TABLE made AS SELECT *, 'rec_' || "
            f"{letters} || '0' || substr(md5(n::text), 1, 17) AS record_id, "
            "'dec_' || substr(md5(d::text), 1, 26) AS decision_id, "
            f"to_timestamp(({_EPOCH_MS} + (q << 2)) / 1000.0) AS at FROM seed"
        )
        cursor.execute(_HEADS)
        cursor.execute(_RULES)
        cursor.execute(_APPROVERS)
        cursor.execute(_AMOUNTS)
        cursor.execute("DROP TABLE seed, made")
    settle()


def settle() -> None:
    """What autovacuum does by itself soon after rows came."""
    with connection.cursor() as cursor:
        for table in ("audit_decisionrow", "audit_decisionmention", "audit_decisionamount"):
            cursor.execute(f"VACUUM (ANALYZE) {table}")


_HEADS = f"""
INSERT INTO audit_decisionrow (record_id, decision_id, seq, tenant_id, run_id, trace_id, intent,
  status, outcome, capability_id, mode_effective, adapter_id, error_code, agent_id, user_id,
  created_at, leaf_hash)
SELECT record_id, decision_id, s, '{TENANT}', 'run_' || d / 5, md5((d / 3)::text),
  'intent.' || h % 10, st, CASE st WHEN 'EXECUTED' THEN 'executed' WHEN 'APPROVED' THEN 'allowed'
  WHEN 'FAILED' THEN 'failed' WHEN 'PROPOSED' THEN 'pending' ELSE 'denied' END,
  'adapter' || h % 8 || '.capability_' || h % 40,
  (array['read_only','local_write','network','delegated','destructive'])[1 + h % 5],
  'adp_' || h % 8, CASE WHEN st IN ('FAILED','REJECTED') THEN 'code.' || h % 30 ELSE '' END,
  'agent_' || (h / 7) % 50, 'user_' || (h / 11) % 2000, at, sha256(record_id::bytea)
FROM (SELECT *, CASE WHEN s = 2 THEN {_ENDINGS} WHEN h % 5 > 2 THEN 'PROPOSED' ELSE 'APPROVED'
  END AS st FROM made) rows
"""
_RULES = f"""
INSERT INTO audit_decisionmention (tenant_id, kind, value, record_id)
SELECT '{TENANT}', 'rule', 'rule_' || h % 30, record_id FROM made WHERE h % 3 = 0
"""
_APPROVERS = f"""
INSERT INTO audit_decisionmention (tenant_id, kind, value, record_id)
SELECT '{TENANT}', kind, value, record_id FROM made, LATERAL (VALUES
  ('approver', 'user_fin' || (h / 3) % 20), ('gate', 'GATE_' || h % 3)) said (kind, value)
WHERE h % 5 = 4 AND s = 2
"""
_AMOUNTS = f"""
INSERT INTO audit_decisionamount (decision_id, tenant_id, amount, unit, created_at)
SELECT decision_id, '{TENANT}', (h / 13) % 10000, 'INR', at FROM made WHERE h % 5 = 4 AND s = 2
"""


def window() -> Window:
    """Somebody who may read everything."""
    return Window(user_id="user_x", tenant_id=TENANT, clearance=Clearance.RESTRICTED)


def combinations(how_many: int, seed: int = 7) -> Iterator[RecordFilter]:
    """Random combinations of one to five filters, some of which match nothing."""
    source = random.Random(seed)
    choices: dict[str, Any] = {
        "capability": lambda n: f"adapter{n % 8}.capability_{n % 40}",
        "adapter": lambda n: f"adp_{n % 9}",
        "status": lambda n: ("EXECUTED", "REJECTED", "FAILED", "APPROVED", "UNKNOWN")[n % 5],
        "mode": lambda n: ("read_only", "network", "destructive")[n % 3],
        "agent": lambda n: f"agent_{n % 60}",
        "user": lambda n: f"user_{n % 2200}",
        "approver": lambda n: f"user_fin{n % 22}",
        "rule": lambda n: f"rule_{n % 32}",
        "gate": lambda n: f"GATE_{n % 4}",
        "intent": lambda n: f"intent.{n % 11}",
        "error": lambda n: f"code.{n % 33}",
        "outcome": lambda n: ("executed", "denied", "failed")[n % 3],
        "ended": lambda n: "1",
        "amount_min": lambda n: str(n % 11_000),
        "trace": lambda n: f"{n:032x}",
        "run": lambda n: f"run_{n}",
        "from": lambda n: (START + timedelta(days=n % 300)).strftime("%Y-%m-%d"),
        "to": lambda n: (START + timedelta(days=300 + n % 10)).strftime("%Y-%m-%d"),
    }
    for _ in range(how_many):
        names = source.sample(sorted(choices), source.randint(1, 5))
        yield read_filter({name: choices[name](source.randrange(100_000)) for name in names})


def search_p95_ms(how_many: int = 200) -> tuple[float, float, dict[str, Any]]:
    """p95 of a page and of an estimate in milliseconds, and the slowest question."""
    pages, estimates, slowest = [], [], (0.0, RecordFilter())
    for wanted in combinations(how_many):
        began = time.perf_counter()
        page_of_records(wanted, window=window())
        spent = (time.perf_counter() - began) * 1000
        pages.append(spent)
        slowest = max(slowest, (spent, wanted), key=lambda pair: pair[0])
        began = time.perf_counter()
        estimated_count(wanted, window=window())
        estimates.append((time.perf_counter() - began) * 1000)
    worst = {"ms": round(slowest[0]), **slowest[1].as_given()}
    return _p95(pages), _p95(estimates), worst


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def filled_rows() -> int:
    """How many rows the planner knows of."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::bigint FROM pg_class WHERE relname = %s",
            [DecisionRow._meta.db_table],
        )
        return int(cursor.fetchone()[0])
