"""Schema documents of one manifest: what is inside them, and where their references lead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

from contextos.core import json_pointer

_KNOWN_DIALECTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
)
REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_DYNAMIC = frozenset({"$dynamicRef", "$recursiveRef", "$dynamicAnchor", "$recursiveAnchor"})
_EMBEDDED = frozenset({"$id", "$schema"})
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})


def _objects(value: object) -> Iterator[dict[str, object]]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def has_references(value: object) -> bool:
    """Whether the meaning of a value depends on anything outside it."""
    return any(not REFERENCES.isdisjoint(found) for found in _objects(value))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a reference leads."""

    source: "Source"
    tokens: tuple[str, ...]
    value: object


@dataclass(frozen=True)
class Source:
    """One schema document, with the others that it may refer to by name."""

    name: str
    root: object
    library: Mapping[str, object] = field(repr=False)
    # Where the document stands in its manifest.
    tokens: tuple[str | int, ...] = ()

    @cached_property
    def keywords(self) -> frozenset[str]:
        """Every name that any object in the document has."""
        return frozenset(name for found in _objects(self.root) for name in found)

    @cached_property
    def refers(self) -> bool:
        """Whether there is any reference in the document."""
        return not REFERENCES.isdisjoint(self.keywords)

    @cached_property
    def has_unevaluated(self) -> bool:
        """Whether what one keyword lets pass may depend on what others have looked at."""
        return not _UNEVALUATED.isdisjoint(self.keywords)

    @cached_property
    def is_plain(self) -> bool:
        """Whether keywords mean what this comparison takes them to mean.

        Not so in dialects we do not know, with references that depend on the path taken, or
        with documents embedded in the document.
        """
        if not _DYNAMIC.isdisjoint(self.keywords) or not self._dialect_is_known():
            return False
        return _EMBEDDED.isdisjoint(self.keywords) or not self._embeds_documents()

    @cached_property
    def referring(self) -> frozenset[int]:
        """The identities of all parts of the document that hold a reference somewhere."""
        return frozenset(_referring(self.root)) if self.refers else frozenset()

    def _dialect_is_known(self) -> bool:
        declared = self.root.get("$schema") if isinstance(self.root, dict) else None
        if declared is None:
            return True
        return isinstance(declared, str) and declared.removesuffix("#") in _KNOWN_DIALECTS

    def _embeds_documents(self) -> bool:
        if not isinstance(self.root, dict):
            return False
        # Only a text there names a document: a property may be called so too.
        return any(
            isinstance(found.get(name), str)
            for found in _objects(list(self.root.values()))
            for name in _EMBEDDED
        )

    def resolve(self, reference: object) -> Target | None:
        """The place a reference names, or None where it cannot be followed for certain."""
        if not isinstance(reference, str) or not self.is_plain:
            return None
        document, _, fragment = reference.partition("#")
        source = self._document(document)
        if source is None or (fragment and not fragment.startswith("/")):
            return None
        return _locate(source, json_pointer.split(unquote(fragment)))

    def _document(self, name: str) -> "Source | None":
        if not name:
            return self
        if name not in self.library:
            return None
        return shelved(name, self.library)

    def mentioned(self) -> set[str]:
        """The names of all library documents this one needs, itself included."""
        needed: set[str] = set()
        pending = [self.name]
        while pending:
            name = pending.pop()
            if name in self.library and name not in needed:
                needed.add(name)
                pending.extend(_mentioned_in(self.library[name]))
        return needed


def shelved(name: str, library: Mapping[str, object]) -> Source:
    """A document of the manifest's own library, by name."""
    return Source(name, library[name], library, ("schemas", name))


def _referring(root: object) -> set[int]:
    """Parts are visited before what they hold, so one look back over them all is enough."""
    visited: list[dict[str, object] | list[object]] = []
    pending = [root]
    while pending:
        item = pending.pop()
        if isinstance(item, dict | list):
            visited.append(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    found: set[int] = set()
    for item in reversed(visited):
        parts = item.values() if isinstance(item, dict) else item
        refers = isinstance(item, dict) and not REFERENCES.isdisjoint(item)
        if refers or any(id(part) in found for part in parts):
            found.add(id(item))
    return found


def _mentioned_in(value: object) -> set[str]:
    references = (found.get(name) for found in _objects(value) for name in REFERENCES)
    return {text.partition("#")[0] for text in references if isinstance(text, str)}


def _locate(source: Source, tokens: tuple[str, ...]) -> Target | None:
    value = source.root
    for token in tokens:
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return Target(source, tokens, value)
