"""A hundred thousand records: written within a minute and within bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.bench.export_rows import exported, most_memory_mb
from tests.bench.log_rows import VERIFIED, fill_records

RECORDS = 100_000


@pytest.mark.scale
@pytest.mark.django_db
@pytest.mark.proves("E3")
def test_a_hundred_thousand_records_take_a_minute_and_little_memory_at_most(
    settings: Any, tmp_path: Path
) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"
    for first in range(0, RECORDS, 20_000):
        fill_records(20_000, first=first)
    before, began = most_memory_mb(), time.monotonic()
    job = exported(VERIFIED, "jsonl")
    assert job.rows == RECORDS
    assert time.monotonic() - began <= 60, connection.vendor
    # What the export itself adds; the process was as large as it was before.
    assert most_memory_mb() - before <= 100
    for form in ("csv", "xlsx"):
        assert exported(VERIFIED, form).rows == RECORDS
    assert most_memory_mb() - before <= 150
    assert most_memory_mb() <= 700
