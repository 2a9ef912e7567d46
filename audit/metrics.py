"""What the log tells Prometheus, read from the tables when it is scraped."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import DatabaseError
from prometheus_client.core import REGISTRY, GaugeMetricFamily
from prometheus_client.registry import Collector

from audit.lag import failing_places, sealing_lags
from audit.models import LogHead


class LogCollector(Collector):
    """Sealing lag, size of the logs, places outside that fail."""

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing beforehand: the tables are asked when somebody scrapes, not at start."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Each figure; none while the database can't be asked, so that the others still come."""
        try:
            figures = _figures()
        except DatabaseError:
            return
        for name, text, value in figures:
            yield GaugeMetricFamily(name, text, value=value)


def _figures() -> list[tuple[str, str, float]]:
    lags = sealing_lags()
    sizes = LogHead.objects.values_list("tree_size", flat=True)
    return [
        (
            "contextos_log_sealing_lag_seconds",
            "How long the oldest record has waited for the sealer.",
            max((lag.seconds for lag in lags), default=0.0),
        ),
        ("contextos_log_waiting_tenants", "Tenants whose records wait now.", len(lags)),
        ("contextos_log_leaves", "Sealed leaves of all logs.", sum(sizes)),
        (
            "contextos_log_outside_failing",
            "Places outside the database that do not take checkpoints.",
            len(failing_places()),
        ),
    ]


def register_collector() -> None:
    """Once a process."""
    if not any(isinstance(each, LogCollector) for each in REGISTRY._collector_to_names):
        REGISTRY.register(LogCollector())
