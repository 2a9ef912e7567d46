"""Shows a manifest as the fields of the twelve steps, each finding beside the field it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextos.core.json_pointer import join
from contextos.core.text import single_line
from contextos.review.document_text import pretty
from registry.admin.draft_form.fields import (
    ABSENT,
    Choices,
    FieldSpec,
    Kind,
    fits,
    shown,
)
from registry.admin.draft_form.steps import STEPS, Step
from registry.readiness.findings import Finding, Severity

# A form posts at most a thousand fields; a capability has some thirty.
WINDOW = 20
FIELD_PREFIX = "f"
SAMPLE_PREFIX = "sample"


@dataclass(slots=True)
class BoundField:
    """One field of the page."""

    spec: FieldSpec
    pointer: str
    value: str
    locked: bool = False
    fault: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the browser posts it as."""
        return f"{FIELD_PREFIX}{self.pointer}"

    @property
    def id(self) -> str:
        """Its id in the page; pointers are unique and hold no space that matters."""
        return self.name.replace(" ", "%20")

    @property
    def choices(self) -> Choices:
        """What may be picked; a value that is not on the list is kept, so that nothing is lost."""
        known = {value for value, _ in self.spec.choices}
        if not self.value or self.value in known:
            return self.spec.choices
        return (*self.spec.choices, (self.value, f"{single_line(self.value, limit=60)} (unknown)"))

    @property
    def rows(self) -> int:
        """Height of a text area: as high as its text, within reason."""
        return min(24, max(2, self.value.count("\n") + 1))

    @property
    def is_area(self) -> bool:
        """Whether it is a text area."""
        return self.spec.kind in (Kind.LONG_TEXT, Kind.LINES, Kind.JSON)

    @property
    def is_code(self) -> bool:
        """Whether it holds JSON."""
        return self.spec.kind is Kind.JSON

    @property
    def is_choice(self) -> bool:
        """Whether it is picked from a list."""
        return self.spec.kind in (Kind.CHOICE, Kind.YES_NO)

    @property
    def has_error(self) -> bool:
        """Whether something about it stops the draft."""
        return bool(self.fault) or any(f.severity is Severity.BLOCK for f in self.findings)


@dataclass(slots=True)
class CapabilityPart:
    """The fields of one capability within one step."""

    index: int
    label: str
    pointer: str
    fields: list[BoundField]
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments to be tried in step 11."""

    index: int
    label: str
    value: str
    problems: tuple[str, ...] | None  # None = not tried, empty = accepted

    @property
    def name(self) -> str:
        """What the browser posts it as."""
        return f"{SAMPLE_PREFIX}/{self.index}"


@dataclass(slots=True)
class BoundStep:
    """One step with its fields."""

    step: Step
    fields: list[BoundField]
    capabilities: list[CapabilityPart]
    schemas: list[BoundField] = field(default_factory=list)

    def all_fields(self) -> Iterable[BoundField]:
        """Every field of the step."""
        yield from self.fields
        yield from self.schemas
        for part in self.capabilities:
            yield from part.fields

    @property
    def open_count(self) -> int:
        """How many things of this step stop the submission."""
        places: list[BoundField | CapabilityPart] = [*self.all_fields(), *self.capabilities]
        found = [finding for place in places for finding in place.findings]
        faults = sum(1 for bound in self.all_fields() if bound.fault)
        return faults + Counter(f.severity for f in found)[Severity.BLOCK]


@dataclass(slots=True)
class BoundForm:
    """The whole form."""

    steps: list[BoundStep]
    placed: dict[str, str]  # pointer of a finding -> id of its field
    samples: list[Sample]
    window: int
    window_count: int
    unfit: str = ""

    @property
    def pages(self) -> list[tuple[int, str]]:
        """The pages of capabilities, as their buttons name them."""
        return [
            (index, f"{index * WINDOW + 1} to {(index + 1) * WINDOW}")
            for index in range(self.window_count)
        ]


def windows(document: Mapping[str, Any]) -> int:
    """How many pages of capabilities the form has; at least one."""
    return max(1, -(-len(_capabilities(document)) // WINDOW))


def bind(
    document: Mapping[str, Any],
    findings: Sequence[Finding],
    *,
    window: int = 0,
    faults: Mapping[str, tuple[str, str]] | None = None,
    samples: Sequence[Sample] = (),
) -> BoundForm:
    """The form of a normalised document; `faults` gives typed text and message by field name."""
    count = windows(document)
    window = min(max(window, 0), count - 1)
    steps = [_bound_step(step, document, window) for step in STEPS]
    _keep_typed(steps, faults or {})
    placed = _place(steps, findings)
    return BoundForm(steps, placed, list(samples), window, count, unfit=_unfit(document))


def shown_capabilities(document: Mapping[str, Any], window: int) -> list[tuple[int, Any]]:
    """The capabilities of one page of the form with their indexes."""
    listed = _capabilities(document)
    start = window * WINDOW
    return list(enumerate(listed))[start : start + WINDOW]


def value_at(owner: Any, path: Sequence[str]) -> tuple[Any, bool]:
    """The value below an object, and whether the way to it is free of other types."""
    for name in path:
        if owner is ABSENT or owner is None:
            return ABSENT, True
        if not isinstance(owner, dict):
            return ABSENT, False
        owner = owner.get(name, ABSENT)
    return owner, True


def capability_label(index: int, capability: Any) -> str:
    """What a capability is called on the page while it may not have a name yet."""
    name = capability.get("capability_id") if isinstance(capability, dict) else None
    shown_name = single_line(name, limit=80) if isinstance(name, str) and name else "not named yet"
    return f"{index + 1}. {shown_name}"


def _capabilities(document: Mapping[str, Any]) -> list[Any]:
    listed = document.get("capabilities")
    return listed if isinstance(listed, list) else []


def _unfit(document: Mapping[str, Any]) -> str:
    if not isinstance(document.get("capabilities", []), list):
        return "/capabilities is not a list"
    if not isinstance(document.get("schemas", {}), dict):
        return "/schemas is not an object"
    return ""


def _bound_step(step: Step, document: Mapping[str, Any], window: int) -> BoundStep:
    parts = [
        CapabilityPart(
            index,
            capability_label(index, capability),
            join(["capabilities", index]),
            [_bound(spec, capability, ["capabilities", index]) for spec in step.capability_fields],
        )
        for index, capability in shown_capabilities(document, window)
        if step.capability_fields
    ]
    bound = BoundStep(step, [_bound(spec, document, []) for spec in step.adapter_fields], parts)
    if step.key == "schemas":
        bound.schemas = _schema_fields(document)
    return bound


def _bound(spec: FieldSpec, owner: Any, place: list[str | int]) -> BoundField:
    value, reachable = value_at(owner, spec.path)
    pointer = join([*place, *spec.path])
    if reachable and fits(spec.kind, value):
        return BoundField(spec, pointer, shown(spec.kind, value))
    text = pretty(value) if value is not ABSENT else ""
    return BoundField(spec, pointer, text, locked=True)


def _schema_fields(document: Mapping[str, Any]) -> list[BoundField]:
    schemas = document.get("schemas")
    listed = schemas.items() if isinstance(schemas, dict) else ()
    return [
        BoundField(
            FieldSpec((ref,), single_line(ref, limit=120), kind=Kind.JSON),
            join(["schemas", ref]),
            pretty(schema),
        )
        for ref, schema in list(listed)[: 10 * WINDOW]
    ]


def _keep_typed(steps: Iterable[BoundStep], faults: Mapping[str, tuple[str, str]]) -> None:
    for step in steps:
        for bound in step.all_fields():
            if bound.name in faults:
                bound.value, bound.fault = faults[bound.name]


def _fields_by_place(steps: Sequence[BoundStep]) -> dict[str, BoundField]:
    """Fields by pointer; an object that is spread over several fields stands at its first one."""
    listed = [bound for step in steps for bound in step.all_fields()]
    fields = {bound.pointer: bound for bound in listed}
    for bound in listed:
        parent = bound.pointer
        for _ in bound.spec.path[1:]:
            parent = parent.rpartition("/")[0]
            fields.setdefault(parent, bound)
    return fields


def _place(steps: Sequence[BoundStep], findings: Iterable[Finding]) -> dict[str, str]:
    """Put each finding at the nearest field or capability above its pointer."""
    fields = _fields_by_place(steps)
    first_parts: dict[str, CapabilityPart] = {}
    for step in steps:
        for part in step.capabilities:
            first_parts.setdefault(part.pointer, part)
    placed: dict[str, str] = {}
    for finding in findings:
        pointer = finding.pointer
        while pointer and pointer not in fields and pointer not in first_parts:
            pointer = pointer.rpartition("/")[0]
        if pointer in fields:
            fields[pointer].findings.append(finding)
            placed[finding.pointer] = fields[pointer].id
        elif pointer in first_parts:
            first_parts[pointer].findings.append(finding)
            placed[finding.pointer] = f"part{pointer}"
    return placed
