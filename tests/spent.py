"""Where the suite's time goes: CPU seconds per folder and the dearest tests, told after long runs.

Processor time, not the clock's: a busy machine makes every test slow, and none dear. Waiting is
told apart, because a test that sleeps holds its worker up all the same. What a fixture for many
tests costs is counted with the first test that asks for it.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import pytest

LONG_RUN = 500  # tests; whoever runs fewer looks at something else
DEAREST = 15
KEPT = Path(__file__).resolve().parent.parent / "build" / "spent.json"


def cpu_seconds() -> float:
    """Of this process and of those it started and waited for."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(slots=True)
class _Spent:
    cpu: float = 0.0
    clock: float = 0.0
    tests: set[str] = field(default_factory=set)

    def add(self, report: Any) -> None:
        self.cpu += report.cpu_seconds
        self.clock += report.duration
        self.tests.add(report.nodeid)


class Accounts:
    """Measured in each worker, summed up where the report is printed."""

    def __init__(self) -> None:
        self._before = 0.0
        self._tests: dict[str, _Spent] = defaultdict(_Spent)

    def pytest_runtest_logstart(self) -> None:
        self._before = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = cpu_seconds()
        report.cpu_seconds = now - self._before  # travels to the controller with the report
        self._before = now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._tests[report.nodeid].add(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._tests) < LONG_RUN:
            return
        self._keep()
        terminalreporter.section("where the time went (CPU seconds, waiting seconds)")
        for line in [*self._folder_lines(), "", *self._dearest_lines()]:
            terminalreporter.write_line(line)

    def _keep(self) -> None:
        KEPT.parent.mkdir(exist_ok=True)
        rows = {
            name: [round(spent.cpu, 3), round(spent.clock, 3)]
            for name, spent in self._tests.items()
        }
        KEPT.write_text(json.dumps(rows, indent=0))

    def _folder_lines(self) -> list[str]:
        folders: dict[str, _Spent] = defaultdict(_Spent)
        for name, spent in self._tests.items():
            for folder in (str(Path(name.split("::")[0]).parent), "all tests"):
                folders[folder].cpu += spent.cpu
                folders[folder].clock += spent.clock
                folders[folder].tests.add(name)
        dearest = sorted(folders.items(), key=lambda pair: -pair[1].cpu)
        return [_line(name, spent, len(spent.tests)) for name, spent in dearest]

    def _dearest_lines(self) -> list[str]:
        dearest = sorted(self._tests.items(), key=lambda pair: -pair[1].cpu)
        return [_line(name, spent) for name, spent in dearest[:DEAREST]]


def _line(name: str, spent: _Spent, tests: int = 0) -> str:
    waited = max(0.0, spent.clock - spent.cpu)
    each = f"  {tests} tests, {spent.cpu / tests * 1000:.0f} ms each" if tests else ""
    return f"{spent.cpu:8.1f} {waited:8.1f}  {name}{each}"
