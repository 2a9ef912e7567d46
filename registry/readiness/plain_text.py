"""A lint report as text for a terminal."""

from collections.abc import Callable, Iterator, Mapping

from contextos.core.json_places import Position
from contextos.core.text import single_line
from registry.readiness.findings import Finding, Report, Severity

Paint = Callable[[Severity, str], str]

_LABELS = {Severity.BLOCK: "BLOCK", Severity.WARN: "WARN ", Severity.INFO: "INFO "}
_COUNTED = {Severity.BLOCK: "blocking", Severity.WARN: "to confirm", Severity.INFO: "to note"}


def as_text(
    report: Report, *, name: str, positions: Mapping[str, Position], paint: Paint
) -> Iterator[str]:
    """The report line by line; `paint` colours a severity, or leaves it as it is."""
    counts = ", ".join(f"{len(report.of(s))} {word}" for s, word in _COUNTED.items())
    shown = single_line(name)
    worst = Severity.BLOCK if report.of(Severity.BLOCK) else Severity.INFO
    yield paint(worst, f"{shown}: {report.verdict.value} ({counts})")
    for finding in report.findings:
        yield ""
        yield from _lines(finding, positions[finding.pointer], paint)
    if report.findings:
        yield ""
        yield "Each rule is explained in docs/reference/findings.md."


def _lines(finding: Finding, at: Position, paint: Paint) -> Iterator[str]:
    head = f"{_LABELS[finding.severity]} {finding.rule}"
    yield f"{paint(finding.severity, head)}  line {at.line}, {single_line(finding.pointer) or '/'}"
    yield f"      {finding.message}"
    yield f"      Fix: {finding.remediation}"
