"""Finds where a schema lets through what nobody described: the free-form parts of an input."""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from registry.readiness.schema_reader import Meaning, Place, SchemaReader
from registry.readiness.words import split_words

_MAX_PLACES = 20

# A string by one of these names holds a document or a statement that no schema describes.
_PAYLOAD_NAMES = frozenset(
    {
        "cmd",
        "command",
        "command_line",
        "json",
        "json_body",
        "json_payload",
        "payload",
        "payload_json",
        "raw_body",
        "raw_json",
        "raw_payload",
        "raw_request",
        "raw_sql",
        "request_body",
        "request_payload",
        "shell_command",
        "sql",
        "sql_query",
        "sql_statement",
        "xml_payload",
    }
)


# A string whose name ends so is a document too: `event_payload`, `order_json`.
_DOCUMENT_ENDINGS = frozenset({"json", "payload"})
_DOCUMENT_TYPES = ("json", "xml", "yaml")


class Opening(StrEnum):
    """The ways in which an input can be open."""

    ANYTHING = "accepts any value at all"
    MEMBERS = "accepts members that are not declared"
    ITEMS = "accepts an array of anything"
    STRING = "is a free-form payload string"
    MAP = "is a map with free keys"
    UNREAD = "has too many alternatives to be judged"


class OpenPlace(NamedTuple):
    """One opening, and where it is."""

    place: Place
    opening: Opening


def openings(reader: SchemaReader, root: Place) -> Iterator[OpenPlace]:
    """Every opening in a schema, each once."""
    return islice(dict.fromkeys(_search(reader, root)), _MAX_PLACES)


def _search(reader: SchemaReader, root: Place) -> Iterator[OpenPlace]:
    reader.start()
    seen: set[tuple[frozenset[Place], str]] = set()
    pending: list[tuple[Meaning, str]] = [(reader.meaning(root), "")]
    while pending:
        meaning, name = pending.pop()
        for reading in reader.alternatives(meaning):
            key = (frozenset(reading.parts), name)
            if key in seen or not _can_be_judged(reading):
                continue
            seen.add(key)
            yield from (OpenPlace(reading.place, opening) for opening in _judge(reading, name))
            pending.extend(reversed(list(_inside(reader, reading))))
    if reader.gave_up:
        yield OpenPlace(root, Opening.UNREAD)


def _can_be_judged(reading: Meaning) -> bool:
    return reading.known and not reading.is_never and reading.allowed_values is None


def _judge(reading: Meaning, name: str) -> Iterator[Opening]:
    if reading.says_nothing:
        yield Opening.ANYTHING
        return
    if reading.may_be("object"):
        yield from _judge_object(reading)
    if reading.may_be("array") and not _items_are_described(reading):
        yield Opening.ITEMS
    if "string" in reading.types and _is_payload(reading, name):
        yield Opening.STRING


def _judge_object(reading: Meaning) -> Iterator[Opening]:
    others = [
        value
        for keyword in ("additionalProperties", "unevaluatedProperties")
        for _, value in reading.values(keyword)
    ]
    if any(value is False for value in others) or _names_are_fixed(reading):
        return
    described = any(isinstance(value, dict) and value for value in others)
    yield Opening.MAP if described else Opening.MEMBERS


def _names_are_fixed(reading: Meaning) -> bool:
    if any(value == 0 for _, value in reading.values("maxProperties")):
        return True
    return any(
        names is False or (isinstance(names, dict) and names.keys() & {"enum", "const"})
        for _, names in reading.values("propertyNames")
    )


def _items_are_described(reading: Meaning) -> bool:
    if any(value == 0 for _, value in reading.values("maxItems")):
        return True
    items = [value for _, value in reading.values("items")]
    if items:
        return not all(value is True or value == {} for value in items)
    return reading.has("prefixItems")


def _is_payload(reading: Meaning, name: str) -> bool:
    if reading.has("pattern", "format", "contentSchema"):
        return False
    media = [value for _, value in reading.values("contentMediaType") if isinstance(value, str)]
    if any(value.lower().endswith(_DOCUMENT_TYPES) for value in media):
        return True
    words = split_words(name)
    return "_".join(words) in _PAYLOAD_NAMES or bool(_DOCUMENT_ENDINGS.intersection(words[-1:]))


def _inside(reader: SchemaReader, reading: Meaning) -> Iterator[tuple[Meaning, str]]:
    for name in reading.property_names():
        yield reader.property(reading, name), name
    for nested in reader.nested(reading):
        yield nested, ""
