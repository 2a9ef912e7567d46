"""Reads what a JSON Schema allows, through references and combinators, without running it.

Tolerant of anything: a malformed keyword reads as absent, a reference that leads nowhere or in a
circle ends the reading there. Other rules report both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from contextos.core.json_pointer import split
from registry.manifest import Capability, Manifest
from registry.manifest.origins import member
from registry.schema_tree import walk

# Alternatives multiply: reading stops, and says so, before it becomes a way to stall the linter.
_MAX_COMBINATIONS = 64
_EFFORT_PER_READING = 10_000
_EFFORT_IN_TOTAL = 200_000

_IMPLIED_TYPES: Mapping[str, frozenset[str]] = {
    "string": frozenset({"pattern", "minLength", "maxLength", "format", "contentEncoding"}),
    "number": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    ),
    "array": frozenset({"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"}),
    "object": frozenset(
        {
            "properties",
            "patternProperties",
            "additionalProperties",
            "unevaluatedProperties",
            "required",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentSchemas",
            "dependentRequired",
        }
    ),
}


@dataclass(frozen=True)
class Place:
    """One subschema, and where it stands among the manifest's schemas."""

    uri: str
    path: str
    node: Any = field(compare=False, hash=False)

    @property
    def pointer(self) -> str:
        """Where the subschema stands in the normalised manifest."""
        return member("/schemas", self.uri) + self.path

    def below(self, *names: str | int, node: Any) -> "Place":
        return Place(self.uri, member(self.path, *names), node)

    def member(self, keyword: str) -> Any:
        return self.node.get(keyword) if isinstance(self.node, dict) else None


@dataclass(frozen=True)
class Meaning:
    """Schemas that must all hold at once, references and `allOf` already followed."""

    parts: tuple[Place, ...]
    known: bool  # False when a reference led nowhere: nothing can be said for certain

    @property
    def place(self) -> Place:
        """Where to point when something is wrong with the whole."""
        return self.parts[0]

    def values(self, keyword: str) -> Iterator[tuple[Place, Any]]:
        """What the parts say under a keyword."""
        for part in self.parts:
            if isinstance(part.node, dict) and keyword in part.node:
                yield part, part.node[keyword]

    def has(self, *keywords: str) -> bool:
        return any(True for keyword in keywords for _ in self.values(keyword))

    @cached_property
    def is_never(self) -> bool:
        """Whether no value at all is allowed."""
        return any(part.node is False for part in self.parts)

    @cached_property
    def types(self) -> frozenset[str]:
        """The JSON types it can take: as declared, else as its keywords imply; empty = any."""
        declared = [_type_names(value) for _, value in self.values("type")]
        if declared:
            return frozenset.intersection(*declared)
        return frozenset(name for name, words in _IMPLIED_TYPES.items() if self.has(*words))

    def may_be(self, type_name: str) -> bool:
        """Whether a value of this type could be allowed."""
        return not self.types or type_name in self.types

    @cached_property
    def says_nothing(self) -> bool:
        """Whether any value whatever is allowed."""
        limits = ("not", "enum", "const", "anyOf", "oneOf", "if", "type")
        implied = (word for words in _IMPLIED_TYPES.values() for word in words)
        return self.known and not self.is_never and not self.has(*limits, *implied)

    @cached_property
    def allowed_values(self) -> tuple[Any, ...] | None:
        """The values an enumeration leaves, or None where there is none."""
        lists = [value for _, value in self.values("enum") if isinstance(value, list)]
        lists.extend([value] for _, value in self.values("const"))
        if not lists:
            return None
        first, *others = lists
        return tuple(item for item in first if all(item in other for other in others))

    def property_names(self) -> Iterator[str]:
        """The members it declares, each once."""
        names: dict[str, None] = {}
        for _, declared in self.values("properties"):
            if isinstance(declared, dict):
                names.update(dict.fromkeys(declared))
        return iter(names)


class SchemaReader:
    """Reads the schemas of one manifest; what was read once is remembered."""

    def __init__(self, manifest: Manifest) -> None:
        self._documents: Mapping[str, Any] = manifest.schemas
        self._meanings: dict[Place, Meaning] = {}
        self._effort_left = _EFFORT_PER_READING
        self._effort_in_total = _EFFORT_IN_TOTAL

    def start(self) -> None:
        """Begin to read another schema: each gets its own effort, within that of all."""
        self._effort_left = _EFFORT_PER_READING

    @property
    def gave_up(self) -> bool:
        """Whether what is being read was too involved to be read to the end."""
        return self._effort_left <= 0 or self._effort_in_total <= 0

    def _spend(self, effort: int) -> None:
        self._effort_left -= effort
        self._effort_in_total -= effort

    def schema_of(self, capability: Capability, side: str) -> Place | None:
        """The input or output schema of a capability, if it is there to be read."""
        uri = capability.schema_ref(side)
        return Place(uri, "", self._documents[uri]) if uri in self._documents else None

    def meaning(self, *places: Place) -> Meaning:
        """Several schemas taken together, with references and `allOf` followed."""
        if len(places) != 1:
            return self._gather(places)
        if places[0] not in self._meanings:
            self._meanings[places[0]] = self._gather(places)
        return self._meanings[places[0]]

    def _gather(self, places: Sequence[Place]) -> Meaning:
        parts: dict[Place, None] = {}
        known = True
        pending = list(places)
        while pending and not self.gave_up:
            self._spend(1)
            place = pending.pop(0)
            if place in parts:
                continue
            parts[place] = None
            target = self._target(place)
            known = known and target is not _NOWHERE
            pending.extend([target] if target and target is not _NOWHERE else [])
            pending.extend(_listed(place, "allOf"))
        return Meaning(tuple(parts) or tuple(places), known and not pending)

    def alternatives(self, meaning: Meaning) -> Iterator[Meaning]:
        """The schema once for each way its alternatives can be taken."""
        return islice(self._alternatives(meaning), _MAX_COMBINATIONS)

    def _alternatives(self, meaning: Meaning) -> Iterator[Meaning]:
        pending: list[tuple[Meaning, frozenset[Place]]] = [(meaning, frozenset())]
        while pending and not self.gave_up:
            current, decided = pending.pop()
            groups = [g for part in current.parts if part not in decided for g in _choices(part)]
            if not groups:
                yield current
                continue
            decided = decided.union(current.parts)
            self._spend(len(current.parts))
            for combination in islice(product(*groups), _MAX_COMBINATIONS):
                chosen = [place for place in combination if place is not None]
                pending.append((self.meaning(*current.parts, *chosen), decided))

    def property(self, meaning: Meaning, name: str) -> Meaning:
        """What is said about one member."""
        found = [
            part.below("properties", name, node=declared[name])
            for part, declared in meaning.values("properties")
            if isinstance(declared, dict) and name in declared
        ]
        return self.meaning(*found)

    def objects(self, root: Place) -> Iterator[Meaning]:
        """Every object the schema describes, at any depth, each reading of it once."""
        self.start()
        seen: set[frozenset[Place]] = set()
        pending = [self.meaning(root)]
        while pending:
            for reading in self.alternatives(pending.pop()):
                if frozenset(reading.parts) in seen:
                    continue
                seen.add(frozenset(reading.parts))
                if reading.may_be("object"):
                    yield reading
                pending.extend(self.within(reading))

    def within(self, meaning: Meaning) -> Iterator[Meaning]:
        """What the schema says about members and items, one level down."""
        for name in meaning.property_names():
            yield self.property(meaning, name)
        yield from self.nested(meaning)

    def nested(self, meaning: Meaning) -> Iterator[Meaning]:
        """What it says about items and about members that have no name of their own."""
        for part in meaning.parts:
            for place in _nested(part):
                yield self.meaning(place)

    def _target(self, place: Place) -> Place | None:
        ref = place.member("$ref")
        if not isinstance(ref, str):
            return None
        uri, _, fragment = ref.partition("#")
        if not uri or uri == _own_id(self._documents.get(place.uri)):
            uri = place.uri
        if uri not in self._documents:
            return _NOWHERE
        return _at_fragment(uri, self._documents[uri], unquote(fragment))


_NOWHERE = Place("", "", None)
_readers: WeakKeyDictionary[Manifest, SchemaReader] = WeakKeyDictionary()


def reader_for(manifest: Manifest) -> SchemaReader:
    """The one reader that all rules share while they look at a manifest."""
    reader = _readers.get(manifest)
    if reader is None:
        reader = _readers[manifest] = SchemaReader(manifest)
    return reader


def _at_fragment(uri: str, document: Any, fragment: str) -> Place:
    if fragment and not fragment.startswith("/"):
        return _at_anchor(uri, document, fragment)
    node = document
    for token in split(fragment):
        node = _step(node, token)
    return Place(uri, fragment, node) if isinstance(node, dict | bool) else _NOWHERE


def _step(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token)
    if isinstance(node, list) and token.isascii() and token.isdigit() and int(token) < len(node):
        return node[int(token)]
    return None


def _at_anchor(uri: str, document: Any, name: str) -> Place:
    for path, node in walk(document):
        if isinstance(node, dict) and (
            name in (node.get("$anchor"), node.get("$dynamicAnchor"))
            or node.get("$id") == f"#{name}"
        ):
            return Place(uri, path, node)
    return _NOWHERE


def _own_id(document: Any) -> str | None:
    own = document.get("$id") if isinstance(document, dict) else None
    return own.partition("#")[0] if isinstance(own, str) else None


def _listed(place: Place, keyword: str) -> list[Place]:
    items = place.member(keyword)
    return [
        place.below(keyword, index, node=item)
        for index, item in enumerate(items if isinstance(items, list) else ())
        if isinstance(item, dict | bool)
    ]


def _choices(place: Place) -> Iterator[list[Place | None]]:
    """The groups of alternatives in a schema; None stands for a branch that asks nothing."""
    for keyword in ("anyOf", "oneOf"):
        listed = [item for item in _listed(place, keyword) if item.node is not False]
        if listed:
            yield list(listed)
    if isinstance(place.member("if"), dict | bool):
        branches = [(name, place.member(name)) for name in ("then", "else")]
        yield [
            place.below(name, node=node) if isinstance(node, dict | bool) else None
            for name, node in branches
        ]


def _nested(place: Place) -> Iterator[Place]:
    for keyword in ("items", "additionalProperties", "unevaluatedProperties", "contains"):
        node = place.member(keyword)
        if isinstance(node, dict):
            yield place.below(keyword, node=node)
    yield from _listed(place, "prefixItems")
    yield from _listed(place, "items")
    for keyword in ("patternProperties", "dependentSchemas"):
        named = place.member(keyword)
        for name, node in named.items() if isinstance(named, dict) else ():
            if isinstance(node, dict):
                yield place.below(keyword, name, node=node)


def _type_names(value: Any) -> frozenset[str]:
    listed = value if isinstance(value, list) else [value]
    names = {item for item in listed if isinstance(item, str)}
    return frozenset(names | ({"number"} if "integer" in names else set()))
