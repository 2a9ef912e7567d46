"""Exports at size: records written a second as JSON lines and as CSV, and what memory they take."""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from django.test import override_settings

from audit.export.runner import run_held
from audit.export.services import ExportRequest, remove_export, request_export
from audit.export.windows import everything
from audit.models import ExportJob
from contextos.core.events import automation
from tests.bench.measure import Row

ACTOR = automation("bench")
_REPEATS = 3


def export_rows(tenant_id: str) -> Iterator[Row]:
    """Of a tenant that has records already: those that the log was measured with."""
    yield _row("export_jsonl_rows_per_s", tenant_id, "jsonl", must=60_000, aim=90_000)
    yield _row("export_csv_rows_per_s", tenant_id, "csv", must=15_000, aim=25_000)


def _row(name: str, tenant_id: str, form: str, *, must: float, aim: float) -> Row:
    with tempfile.TemporaryDirectory() as folder, override_settings(EXPORTS_DIR=Path(folder)):
        rate = statistics.median(_rate(tenant_id, form) for _ in range(_REPEATS))
    return Row(name, rate, "rows/s", must=must, aim=aim, higher_is_better=True)


def _rate(tenant_id: str, form: str) -> float:
    began = time.perf_counter()
    job = exported(tenant_id, form)
    return job.rows / (time.perf_counter() - began)


def exported(tenant_id: str, form: str) -> ExportJob:
    """The whole of an export, from the request to the file under its name."""
    request = ExportRequest(format=form, filter={}, held=True)
    window = everything(tenant_id)
    job = request_export(tenant_id=tenant_id, request=request, actor=ACTOR, window=window)
    done = run_held(job, pulse=lambda job: None)
    remove_export(done)
    return done


def most_memory_mb() -> float:
    """The most this process ever held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
