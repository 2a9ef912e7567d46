"""Writes what was typed into the twelve-step form back into the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import join
from registry.admin.draft_form.binding import (
    FIELD_PREFIX,
    SAMPLE_PREFIX,
    Sample,
    capability_label,
    shown_capabilities,
    value_at,
)
from registry.admin.draft_form.fields import (
    ABSENT,
    FieldFault,
    FieldSpec,
    Kind,
    fits,
    read,
    whole_number,
)
from registry.admin.draft_form.steps import STEPS
from registry.manifest.normalise import schema_uri
from registry.validation import SchemaDocuments, compile_schema

MAX_SAMPLE_PROBLEMS = 5


@dataclass(slots=True)
class Posted:
    """The document after the form was read, and the fields that could not be."""

    document: dict[str, Any]
    faults: dict[str, tuple[str, str]] = field(default_factory=dict)


def apply_fields(document: dict[str, Any], data: Mapping[str, str], *, window: int) -> Posted:
    """Read the posted fields into the document; members that have no field stay as they are."""
    posted = Posted(document)
    for step in STEPS:
        for spec in step.adapter_fields:
            _take(posted, document, [], spec, data)
        for index, capability in shown_capabilities(document, window):
            if isinstance(capability, dict):
                for spec in step.capability_fields:
                    _take(posted, capability, ["capabilities", index], spec, data)
    _take_schemas(posted, data)
    return posted


def with_change(document: dict[str, Any], change: str, data: Mapping[str, str]) -> None:
    """Add or remove a capability or a schema, as a button of the form asks."""
    verb, _, which = change.partition(":")
    if verb == "add_capability":
        _list_member(document, "capabilities").append({})
    elif verb == "remove_capability":
        listed, index = _list_member(document, "capabilities"), whole_number(which)
        if index is not None and index < len(listed):
            del listed[index]
    elif verb == "add_schema":
        name = schema_uri(data.get("new_schema", "").strip())
        if name:
            _object_member(document, "schemas").setdefault(
                name, {"type": "object", "additionalProperties": False, "properties": {}}
            )
    elif verb == "remove_schema":
        _object_member(document, "schemas").pop(which, None)


def tried_samples(
    document: Mapping[str, Any], data: Mapping[str, str], *, window: int
) -> list[Sample]:
    """The sample arguments of step 11, each checked against its capability's input schema."""
    return [
        _tried(document, index, capability, data.get(f"{SAMPLE_PREFIX}/{index}", ""))
        for index, capability in shown_capabilities(document, window)
    ]


def _take(
    posted: Posted,
    owner: dict[str, Any],
    place: Sequence[str | int],
    spec: FieldSpec,
    data: Mapping[str, str],
) -> None:
    name = f"{FIELD_PREFIX}{join([*place, *spec.path])}"
    current, reachable = value_at(owner, spec.path)
    if name not in data or not reachable or not fits(spec.kind, current):
        return  # not on this page, or of a type that only the JSON view can edit
    try:
        value = read(spec.kind, data[name])
    except FieldFault as fault:
        posted.faults[name] = (data[name], fault.message)
        return
    _write(owner, spec.path, value)


def _write(owner: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[:-1]:
        if value is ABSENT and not isinstance(owner.get(name), dict):
            return
        if not isinstance(owner.get(name), dict):
            owner[name] = {}
        owner = owner[name]
    if value is ABSENT:
        owner.pop(path[-1], None)
    else:
        owner[path[-1]] = value


def _take_schemas(posted: Posted, data: Mapping[str, str]) -> None:
    listed = posted.document.get("schemas")
    schemas: dict[str, Any] = listed if isinstance(listed, dict) else {}
    for ref in list(schemas):
        name = f"{FIELD_PREFIX}{join(['schemas', ref])}"
        if name not in data:
            continue
        try:
            value = read(Kind.JSON, data[name])
        except FieldFault as fault:
            posted.faults[name] = (data[name], fault.message)
            continue
        if value is not ABSENT:  # a schema is removed by its button, not by emptying it
            schemas[ref] = value


def _list_member(document: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(document.get(name), list):
        document[name] = []
    listed: list[Any] = document[name]
    return listed


def _object_member(document: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(document.get(name), dict):
        document[name] = {}
    owned: dict[str, Any] = document[name]
    return owned


def _tried(document: Mapping[str, Any], index: int, capability: Any, text: str) -> Sample:
    label = capability_label(index, capability)
    if not text.strip():
        return Sample(index, label, text, None)
    return Sample(index, label, text, _problems(document, capability, text))


def _problems(document: Mapping[str, Any], capability: Any, text: str) -> tuple[str, ...]:
    schemas = document.get("schemas")
    documents = SchemaDocuments(schemas if isinstance(schemas, dict) else {})
    ref = capability.get("input_schema_ref") if isinstance(capability, dict) else None
    if not isinstance(ref, str) or ref not in documents:
        return ("There is no input schema to check against; step 5 names one.",)
    try:
        arguments = strict_json.loads_object(text)
        found = compile_schema(documents[ref], documents=documents).errors(arguments)
    except ContextOSError as refusal:
        return (refusal.message,)
    return tuple(f"{item.pointer or '/'}: {item.message}" for item in found[:MAX_SAMPLE_PROBLEMS])
