"""The figures as Prometheus reads them: totals since the beginning, per tenant and capability (E5).

They come from the roll-up, so every process and every restart tells the same numbers; rates and
percentiles over time are the scraper's work. Labels are published names, never what agents invent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.db import DatabaseError
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import REGISTRY, Collector

from audit.lag import sealing_lags
from contextos.core.clock import utcnow
from gateway.figures.boards import Line, budget_use_of_all, totals_of_all_time
from gateway.figures.measures import ENDS, STEPS_PER_DOUBLING, Spread
from gateway.models import SiemStream
from gateway.siem.lag import lags_of

BUDGETS_OF = timedelta(hours=1)
_LABELS = ("tenant", "adapter", "capability")
_COUNTERS = {
    "unknown": ("unknown_outcomes", "Calls whose outcome became unknown."),
    "reconciled": ("reconciled", "Unknown outcomes that a person settled."),
    "mode_refused": ("mode_refusals", "Refused for the mode that was asked for."),
    "misclassified": ("mode_misclassifications", "Calls that did more than their mode declares."),
    "replays": ("replays", "Recorded answers given again for a key."),
    "replays_equal": ("replays_equal", "Replays that equalled their record."),
    "key_conflicts": ("key_conflicts", "Keys that came again with other arguments."),
    "budget_refused": ("budget_refusals", "Refused because a run's budget was used up."),
    "rate_refused": ("rate_refusals", "Refused because a rate was used up."),
    "cost_cents": ("cost_cents", "Cost that tools stated, in cents."),
}
# The bounds that are whole powers of two are kept exactly: 1 ms up to 9 days.
_BOUNDS = tuple(2**power for power in range(30))


class FiguresCollector(Collector):
    """Asks the database when it is scraped; one that is away takes no other metric with it."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering must not read the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every family, each with all its labels."""
        try:
            totals = totals_of_all_time()
            lags = [_sealing_lags(), *_stream_lags(), *_budgets()]
        except DatabaseError:
            return
        lines = [(tenant, line) for tenant, found in totals.items() for line in found]
        yield _decisions(lines)
        for measure, (name, words) in _COUNTERS.items():
            yield _counter(f"contextos_{name}", words, measure, lines)
        yield _histogram(
            "contextos_call_duration_seconds",
            "From the gateway's attempt to the tool's answer.",
            [(tenant, line, line.sums.latency) for tenant, line in lines],
        )
        yield _histogram(
            "contextos_approval_wait_seconds",
            "From the request of an approval to its decision.",
            [(tenant, line, line.sums.wait) for tenant, line in lines],
        )
        yield from lags


def register() -> None:
    """Once a process, when the gateway starts."""
    REGISTRY.register(FiguresCollector())


def _names(tenant_id: str, line: Line) -> list[str]:
    return [tenant_id, line.place.adapter_id, line.place.capability_id]


def _decisions(lines: list[tuple[str, Line]]) -> Metric:
    family = CounterMetricFamily(
        "contextos_decisions", "Decisions that ended, by how.", labels=(*_LABELS, "status")
    )
    for tenant_id, line in lines:
        for end in ENDS:
            if line.sums[end]:
                family.add_metric([*_names(tenant_id, line), end], line.sums[end])
    return family


def _counter(name: str, words: str, measure: str, lines: list[tuple[str, Line]]) -> Metric:
    family = CounterMetricFamily(name, words, labels=_LABELS)
    for tenant_id, line in lines:
        if line.sums[measure]:
            family.add_metric(_names(tenant_id, line), line.sums[measure])
    return family


def _histogram(name: str, words: str, lines: list[tuple[str, Line, Spread]]) -> Metric:
    family = HistogramMetricFamily(name, words, labels=_LABELS)
    for tenant_id, line, times in lines:
        if times.count:
            family.add_metric(_names(tenant_id, line), _buckets(times), times.total_ms / 1000)
    return family


def _buckets(times: Spread) -> list[tuple[str, float]]:
    """Cumulative, up to the first bound that holds everything."""
    found: list[tuple[str, float]] = []
    for power, bound in enumerate(_BOUNDS):
        last = power * STEPS_PER_DOUBLING
        found.append((f"{bound / 1000:g}", sum(n for bucket, n in times.buckets if bucket <= last)))
    return [*found, ("+Inf", times.count)]


def _sealing_lags() -> Metric:
    family = GaugeMetricFamily(
        "contextos_tenant_sealing_lag_seconds",
        "How long the oldest record of a tenant has waited for the sealer.",
        labels=("tenant",),
    )
    for lag in sealing_lags():
        family.add_metric([lag.tenant_id], lag.seconds)
    return family


def _budgets() -> list[Metric]:
    """What the runs of the last hour used of what they may; use over allowance is the share."""
    used = budget_use_of_all(utcnow() - BUDGETS_OF)
    words = {
        "used_calls": ("Calls that runs opened in the last hour have made.", "calls"),
        "max_calls": ("Calls that runs opened in the last hour may make.", "max_calls"),
        "spent_cents": ("Cents that runs opened in the last hour have spent.", "cents"),
        "max_cost_cents": ("Cents that runs opened in the last hour may spend.", "max_cents"),
    }
    families = []
    for name, (text, member) in words.items():
        family = GaugeMetricFamily(f"contextos_run_budget_{name}", text, labels=("tenant",))
        for tenant_id, budget in used.items():
            family.add_metric([tenant_id], getattr(budget, member))
        families.append(family)
    return list(families)


def _stream_lags() -> list[Metric]:
    """How far the streams to a SIEM are behind."""
    streams = list(SiemStream.objects.all())
    lags, labels = lags_of(streams), ("tenant", "stream")
    words = {
        "records": "Sealed records that a SIEM stream has not taken yet.",
        "seconds": "Age of the oldest sealed record that a SIEM stream has not taken yet.",
    }
    families = [
        GaugeMetricFamily(f"contextos_siem_lag_{unit}", text, labels=labels)
        for unit, text in words.items()
    ]
    failing = GaugeMetricFamily(
        "contextos_siem_failures", "Failed sends of a SIEM stream in a row.", labels=labels
    )
    for stream in streams:
        names, lag = [stream.tenant_id, stream.name], lags[stream.pk]
        families[0].add_metric(names, lag.records)
        families[1].add_metric(names, lag.seconds)
        failing.add_metric(names, stream.failures)
    return [*families, failing]
