"""Reading a log with several processes: each works on a block while another waits for its rows."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from django.db import connections

Result = Callable[[], Any]  # asked for once, when it is wanted
Submit = Callable[..., Result]


@contextmanager
def processes(jobs: int) -> Iterator[Submit]:
    """Have functions called by other processes; by this one, when it is asked, where it is alone.

    Forked, with connections of their own: one shared between processes would mix answers.
    """
    if jobs <= 1:
        yield partial
        return
    connections.close_all()
    context = multiprocessing.get_context("fork")
    # What they make is small and gone with each block: looking for garbage would find none.
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=gc.disable) as pool:

        def submit(function: Callable[..., Any], *arguments: Any) -> Result:
            return pool.submit(function, *arguments).result

        try:
            yield submit
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def usual_jobs() -> int:
    """As many as there are cores, up to a few: the database has to work too."""
    return max(1, min(4, os.cpu_count() or 1))
