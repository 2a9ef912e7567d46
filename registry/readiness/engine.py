"""Runs every rule over a manifest and puts what they find in the order of the document."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from contextos.core.json_pointer import split
from contextos.core.text import single_line
from registry.manifest import Manifest, load_manifest, view
from registry.readiness.catalogue import Rule, all_rules
from registry.readiness.findings import Finding, Report

# A manifest with thousands of like faults is helped by the first few hundred.
MAX_FINDINGS_PER_RULE = 250

_LONGEST_MESSAGE = 400

# Says only that a value has the wrong shape; whoever says why at the same place says it better.
_GENERAL_RULE = "manifest.field_malformed"


def lint_bytes(data: bytes) -> Report:
    """Lint a manifest file; raises a `json.*` coded error when it is not strict JSON."""
    return lint_manifest(load_manifest(data))


def lint_document(document: Mapping[str, Any]) -> Report:
    """Lint a manifest that was parsed before."""
    return lint_manifest(view(document))


def lint_manifest(manifest: Manifest) -> Report:
    """Every finding about a manifest. Pure: no database, no network, no clock."""
    found = [finding for rule in all_rules() for finding in _run(rule, manifest)]
    places = _Places(manifest.source)
    unique = dict.fromkeys(_without_echoes(found))
    return Report(tuple(sorted(unique, key=places.order)))


def _run(rule: Rule, manifest: Manifest) -> Iterator[Finding]:
    for complaint in islice(rule.check(manifest), MAX_FINDINGS_PER_RULE):
        yield Finding(
            rule=rule.id,
            severity=rule.severity,
            pointer=manifest.origins.source_of(complaint.pointer),
            message=single_line(complaint.message, limit=_LONGEST_MESSAGE),
            remediation=complaint.remediation or rule.fix,
        )


def _without_echoes(findings: list[Finding]) -> Iterable[Finding]:
    spoken_for = {item.pointer for item in findings if item.rule != _GENERAL_RULE}
    return (f for f in findings if f.rule != _GENERAL_RULE or f.pointer not in spoken_for)


class _Places:
    """Where pointers stand in a document, so that findings read from top to bottom."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._positions: dict[int, dict[str, int]] = {}

    def order(self, finding: Finding) -> tuple[tuple[int, ...], str, str, str]:
        return (self._path(finding.pointer), finding.pointer, finding.rule, finding.message)

    def _path(self, pointer: str) -> tuple[int, ...]:
        path: list[int] = []
        node: Any = self._document
        for token in split(pointer):
            position = self._position(node, token)
            if position is None:  # absent: after everything that is there
                path.append(len(node) if isinstance(node, dict | list) else 0)
                break
            path.append(position)
            node = node[token] if isinstance(node, dict) else node[position]
        return tuple(path)

    def _position(self, node: Any, token: str) -> int | None:
        if isinstance(node, dict):
            known = self._positions.get(id(node))
            if known is None:
                known = {name: index for index, name in enumerate(node)}
                self._positions[id(node)] = known
            return known.get(token)
        if isinstance(node, list) and token.isascii() and token.isdigit():
            index = int(token)
            return index if index < len(node) else None
        return None
