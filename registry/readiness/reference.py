"""Writes the reference of all rules from the rules themselves."""

from collections.abc import Iterable, Iterator

from registry.readiness.catalogue import Rule, all_rules
from registry.readiness.findings import Severity

_HEAD = """\
# Findings

<!-- Generated from the rules in registry/readiness; do not edit by hand. -->

`manage.py lint_manifest FILE` and the review pages report these findings. Each has a rule id, a
severity, a JSON pointer into the manifest as you wrote it, a message and a remedy.

- **block**: the version can't be submitted until it is fixed.
- **warn**: a reviewer must tick it before approving.
- **info**: worth reading, asks nothing of anybody.
"""


def render_findings_reference() -> str:
    """The Markdown of `docs/reference/findings.md`."""
    return "\n".join([_HEAD, *_summary(), *_sections()]) + "\n"


def _summary() -> Iterator[str]:
    rules = all_rules()
    yield "| rule | severity | what it finds |"
    yield "|---|---|---|"
    for severity in Severity:
        for rule in rules:
            if rule.severity is severity:
                yield f"| [`{rule.id}`](#{_anchor(rule)}) | {severity.value} | {rule.title} |"


def _sections() -> Iterator[str]:
    by_subject: dict[str, list[Rule]] = {}
    for rule in all_rules():
        by_subject.setdefault(rule.subject, []).append(rule)
    for subject in sorted(by_subject):
        yield f"\n## {subject.replace('_', ' ').capitalize()}"
        yield from _entries(by_subject[subject])


def _entries(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        yield f"\n### {rule.id}\n"
        yield f"**{rule.severity.value}** · {rule.title}.\n"
        yield f"Why: {rule.why}\n"
        yield f"Fix: {rule.fix}"


def _anchor(rule: Rule) -> str:
    """The anchor a heading gets: lower case, without punctuation."""
    return rule.id.replace(".", "")
