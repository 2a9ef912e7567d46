"""The arguments of a call for people: all in full, named, measured, quoted; secrets masked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.figures import Figures
from approvals.labels import name
from approvals.models import ApprovalRequest
from audit.payloads import open_payload
from contextos.adminkit.display import untrusted
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import join
from contextos.core.redaction import MARK, RedactionRules, redact
from contextos.core.text import has_invisible, reveal_invisible

MOST_LEAVES = 2000
DEEPEST_INDENT = 5
LONG_TEXT = 1500
_ABSENT = "none"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value, or the name above several."""

    depth: int
    label: str
    key: str
    help: str = ""
    value: SafeString | None = None  # None: a name above others


@dataclass(frozen=True, slots=True)
class Arguments:
    """Everything that will run, as far as the viewer may read it."""

    leaves: list[Leaf]
    exact: str = ""
    masked: int = 0
    left_out: int = 0
    hidden_characters: bool = False
    fault: str = ""


def shown_arguments(request: ApprovalRequest, figures: Figures) -> Arguments:
    """From the payload store; an erased or damaged value says so."""
    try:
        value = open_payload(tenant_id=request.tenant_id, payload_id=request.payload_id)
    except ContextOSError as fault:
        return Arguments([], fault=f"{fault.message} {fault.remediation}")
    labels = request.view.get("labels") or {}
    safe = redact(value, RedactionRules(pointers=tuple(_secret_places(request, labels))))
    walk = _Walk(figures, labels, request.unit, frozenset(safe.removed))
    leaves = list(walk.members(safe.value, (), 0)) if isinstance(safe.value, Mapping) else []
    text = _exact(safe.value)
    return Arguments(
        leaves=leaves[:MOST_LEAVES],
        exact=reveal_invisible(text),
        masked=len(safe.removed),
        left_out=max(0, len(leaves) - MOST_LEAVES),
        hidden_characters=has_invisible(text),
    )


def _secret_places(request: ApprovalRequest, labels: Mapping[str, Any]) -> Iterator[str]:
    """What the reviewed schema calls secret, wherever it lies."""
    yield from (str(pointer) for pointer in request.view.get("secrets") or ())
    for member, label in labels.items():
        if label.get("writeOnly") or label.get("format") == "password":
            yield join((member,))


def _exact(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk through one set of arguments."""

    figures: Figures
    labels: Mapping[str, Any]
    unit: str
    masked: frozenset[str]

    def members(
        self, value: Mapping[str, Any], path: tuple[str, ...], depth: int
    ) -> Iterator[Leaf]:
        for key, member in value.items():
            label = self.labels.get(key, {}) if not path else {}
            unit = self._unit(key, label)
            title = name(str(label.get("title") or _spoken(key, unit)))
            told = name(str(label.get("description") or ""))
            yield from self._any(member, (*path, key), depth, title, told, unit)

    def _any(
        self, value: Any, path: tuple[str, ...], depth: int, title: str, told: str, unit: str
    ) -> Iterator[Leaf]:
        key, indent = name(path[-1]), min(depth, DEEPEST_INDENT)
        if isinstance(value, Mapping) and value:
            yield Leaf(indent, title, key, told)
            yield from self.members(value, path, depth + 1)
        elif isinstance(value, list) and value:
            yield Leaf(indent, title, key, told)
            for at, inner in enumerate(value):
                step = (*path, str(at))
                yield from self._any(inner, step, depth + 1, f"{title}, number {at + 1}", "", unit)
        else:
            yield Leaf(indent, title, key, told, self._value(value, path, unit))

    def _value(self, value: Any, path: tuple[str, ...], unit: str) -> SafeString:
        if value == MARK and join(path) in self.masked:
            return format_html('<span class="cos-badge">{}</span>', "masked: a secret")
        if isinstance(value, bool):
            return format_html("<b>{}</b>", "yes" if value else "no")
        if isinstance(value, int | float):
            return self._number(value, unit)
        if isinstance(value, str):
            return _quoted(value)
        return format_html('<span class="ap-quiet">{}</span>', _empty(value))

    def _number(self, value: int | float, unit: str) -> SafeString:
        shown = self.figures.number(value)
        said = format_html("<b>{}</b>{}", shown, f" {unit}" if unit else "")
        if shown == str(value):
            return said
        return format_html('{} <code class="ap-exact">{}</code>', said, str(value))

    def _unit(self, key: str, label: Mapping[str, Any]) -> str:
        """As the schema says, or by the name where the gateway read the amount from it."""
        said = str(label.get("x-unit") or "")
        if not said and self.unit and key.lower().endswith(f"_{self.unit.lower()}"):
            said = self.unit
        return name(said)


def _quoted(text: str) -> SafeString:
    if text == "":
        return format_html('<span class="ap-quiet">{}</span>', "an empty text")
    if len(text) <= LONG_TEXT:
        return untrusted(text)
    return format_html(
        '<span class="ap-long" tabindex="0" role="group" aria-label="{}">{}</span>'
        '<span class="ap-quiet">{}</span>',
        f"A text of {len(text)} characters",
        untrusted(text),
        f"{len(text)} characters; scroll within",
    )


def _empty(value: Any) -> str:
    if value is None:
        return _ABSENT
    return "an empty list" if isinstance(value, list) else "an empty object"


def _spoken(key: str, unit: str) -> str:
    """`transaction_id` as `Transaction id`; key and unit themselves stand beside it."""
    words = key.replace("_", " ").strip()
    if unit and words.lower().endswith(f" {unit.lower()}"):
        words = words[: -len(unit)].rstrip()
    return words[:1].upper() + words[1:] if words else "(no name)"
