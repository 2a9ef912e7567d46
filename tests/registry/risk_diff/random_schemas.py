"""Random schemas and edits by the thousand: quicker than a property test, and from a fixed seed."""

import copy
import random
from collections.abc import Callable
from typing import Any

from tests.registry.risk_diff.schema_strategies import (
    BASIC_INSTANCES,
    NAMES,
    PATTERNS,
    SCALARS,
    TYPES,
)

_OBJECT_KEYWORDS = (
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
    "required", "allOf", "anyOf", "$ref",
)  # fmt: skip
_LIST_KEYWORDS = (
    "items", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems", "allOf",
    "$ref",
)  # fmt: skip
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_SIZES = (
    "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
    "minProperties", "maxProperties",
)  # fmt: skip
_SINGLE = (
    "items", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties",
    "propertyNames", "not", "if", "then", "else",
)  # fmt: skip
_BRANCHED = ("prefixItems", "allOf", "anyOf", "oneOf")


class SchemaMaker:
    """Makes schemas, edits and instances that go together."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._makers = self._keyword_makers()
        every = tuple(sorted(self._makers))
        # Keywords that depend on each other meet often enough only if drawn together.
        self._groups = (_OBJECT_KEYWORDS, _LIST_KEYWORDS, every, every)

    def _keyword_makers(self) -> dict[str, Callable[[int], Any]]:
        pick = self._random
        makers: dict[str, Callable[[int], Any]] = {
            "type": lambda depth: pick.choice((pick.choice(TYPES), pick.sample(TYPES, 2))),
            "enum": lambda depth: pick.sample(SCALARS, pick.randint(1, 4)),
            "const": lambda depth: pick.choice(SCALARS),
            "multipleOf": lambda depth: pick.choice((1, 2, 3, 4, 0.5)),
            "pattern": lambda depth: pick.choice(PATTERNS),
            "format": lambda depth: pick.choice(("email", "date")),
            "uniqueItems": lambda depth: pick.random() < 0.5,
            "properties": self._by_name,
            "dependentSchemas": self._by_name,
            "patternProperties": lambda depth: {
                name: self.subschema(depth)
                for name in pick.sample(("^x_", "a"), pick.randint(0, 2))
            },
            "required": lambda depth: self._some_names(),
            "dependentRequired": lambda depth: {
                name: self._some_names() for name in self._some_names()
            },
            "$ref": lambda depth: pick.choice(("#/$defs/d", "#/$defs/e")),
        }
        makers |= dict.fromkeys(_BOUNDS, lambda depth: pick.randint(-1, 4))
        makers |= dict.fromkeys(_SIZES, lambda depth: pick.randint(0, 3))
        makers |= dict.fromkeys(_SINGLE, self.subschema)
        makers |= dict.fromkeys(_BRANCHED, self._branches)
        return makers

    def _some_names(self) -> list[str]:
        return self._random.sample(NAMES, self._random.randint(0, len(NAMES)))

    def _by_name(self, depth: int) -> dict[str, Any]:
        return {name: self.subschema(depth) for name in self._some_names()}

    def _branches(self, depth: int) -> list[Any]:
        return [self.subschema(depth) for _ in range(self._random.randint(1, 3))]

    def subschema(self, depth: int) -> Any:
        """A schema of at most this depth."""
        pick = self._random
        if depth <= 0 or pick.random() < 0.12:
            return pick.choice(
                (True, False, {}, {"type": pick.choice(TYPES)}, {"const": pick.choice(SCALARS)})
            )
        return self._object(depth - 1)

    def _object(self, depth: int) -> dict[str, Any]:
        group = self._random.choice(self._groups)
        keywords = self._random.sample(group, self._random.randint(1, 4))
        return {keyword: self._makers[keyword](depth) for keyword in keywords}

    def schema(self) -> dict[str, Any]:
        """A schema with two definitions, now and then recursive."""
        definitions = {"d": self.subschema(1), "e": self.subschema(1)}
        if self._random.random() < 0.2:
            definitions["d"] = {"properties": {"a": {"$ref": "#/$defs/d"}}, "maxProperties": 2}
        return {**self._object(2), "$defs": definitions}

    def edited(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with one to three keywords set, exchanged or taken out, at any depth."""
        result = copy.deepcopy(schema)
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            self._edit(self._random.choice(_objects(result)))
        return result

    def _edit(self, site: dict[str, Any]) -> None:
        pick = self._random
        present = [keyword for keyword in site if keyword in self._makers]
        turn = pick.random()
        if present and turn < 0.35:
            site.pop(pick.choice(present))
            return
        keyword = pick.choice(pick.choice(self._groups))
        if present and turn < 0.7:
            keyword = pick.choice(present)
        site[keyword] = self._makers[keyword](1)

    def instances(self, count: int) -> list[Any]:
        """Values to try the schemas on."""
        return [*BASIC_INSTANCES, *(self._instance(2) for _ in range(count))]

    def _instance(self, depth: int) -> Any:
        pick = self._random
        turn = pick.random()
        if depth == 0 or turn < 0.3:
            return pick.choice(SCALARS)
        if turn < 0.6:
            return [self._instance(depth - 1) for _ in range(pick.randint(0, 3))]
        return {name: self._instance(depth - 1) for name in self._some_names()}


def _objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    pending: list[Any] = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            found.append(item)
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return found
