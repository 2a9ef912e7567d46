"""Evidence keys must name fields that the declared output really has."""

import re
from collections.abc import Iterator

from contextos.core.json_pointer import split
from registry.manifest import Capability, Manifest
from registry.manifest.access import texts
from registry.readiness.catalogue import rule
from registry.readiness.findings import Complaint, Severity
from registry.readiness.schema_reader import Meaning, Place, SchemaReader, reader_for
from registry.readiness.words import label, show
from registry.validation import matches_pattern

_LONGEST_PATH = 32
_INDEX = re.compile(r"\d+|\*|-|")
_BRACKETS = re.compile(r"\[(\d*|\*)\]")


@rule(
    "evidence.key_not_in_output",
    Severity.BLOCK,
    title="An evidence key is not part of the output",
    why="Records cite these fields as proof; a field the output does not have proves nothing.",
    fix="Add the field to the output schema, or correct the key.",
)
def evidence_key_not_in_output(manifest: Manifest) -> Iterator[Complaint]:
    reader = reader_for(manifest)
    for capability in manifest.capabilities:
        root = reader.schema_of(capability, "output")
        if root is None and _is_reported_elsewhere(capability):
            continue
        for index, key in _keys(capability):
            if root is None or not _is_in_output(reader, root, key):
                message = f"The output of {label(capability)} has no field {show(key)}."
                yield Complaint(capability.at("evidence_keys", index), message)


def _is_reported_elsewhere(capability: Capability) -> bool:
    """An output that leads nowhere, or that a decision misses, blocks by a rule of its own."""
    return bool(capability.schema_ref("output") or capability.raw.get("decision_bindings"))


def _keys(capability: Capability) -> Iterator[tuple[int, str]]:
    listed = capability.raw.get("evidence_keys")
    known = set(texts(capability.raw, "evidence_keys"))
    for index, key in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(key, str) and key in known:
            yield index, key


def _is_in_output(reader: SchemaReader, root: Place, key: str) -> bool:
    """A key is a field, a dotted path, or a JSON pointer; a field may itself contain dots."""
    paths: list[tuple[str, ...]] = [(key,)]
    if key.startswith("/"):
        paths.append(split(key))
    paths.append(tuple(_BRACKETS.sub(r".\1", key.removeprefix("$.")).split(".")))
    reader.start()
    start = reader.meaning(root)
    return any(_reaches(reader, start, path) for path in paths if len(path) <= _LONGEST_PATH)


def _reaches(reader: SchemaReader, meaning: Meaning, path: tuple[str, ...]) -> bool:
    if not path:
        return not meaning.is_never
    return any(_reading_reaches(reader, item, path) for item in reader.alternatives(meaning))


def _reading_reaches(reader: SchemaReader, reading: Meaning, path: tuple[str, ...]) -> bool:
    if not reading.known:
        return True
    if reading.is_never:
        return False
    token, rest = path[0], path[1:]
    if _INDEX.fullmatch(token):
        items = list(_items(reader, reading))
        return any(_reaches(reader, item, rest) for item in items)
    if token in reading.property_names():
        return _reaches(reader, reader.property(reading, token), rest)
    return _is_named_otherwise(reader, reading, token, rest)


def _items(reader: SchemaReader, reading: Meaning) -> Iterator[Meaning]:
    for part, node in reading.values("items"):
        if isinstance(node, dict):
            yield reader.meaning(part.below("items", node=node))
    for keyword in ("prefixItems", "items"):
        for part, listed in reading.values(keyword):
            for index, node in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(node, dict):
                    yield reader.meaning(part.below(keyword, index, node=node))


def _is_named_otherwise(
    reader: SchemaReader, reading: Meaning, token: str, rest: tuple[str, ...]
) -> bool:
    """Fields that are required, match a pattern, or fall under a described map."""
    for _, required in reading.values("required"):
        if not rest and isinstance(required, list) and token in required:
            return True
    for part, named in reading.values("patternProperties"):
        for pattern, node in named.items() if isinstance(named, dict) else ():
            if isinstance(node, dict | bool) and matches_pattern(pattern, token):
                place = part.below("patternProperties", pattern, node=node)
                return _reaches(reader, reader.meaning(place), rest)
    for part, node in reading.values("additionalProperties"):
        if isinstance(node, dict) and node:
            place = part.below("additionalProperties", node=node)
            return _reaches(reader, reader.meaning(place), rest)
    return False
