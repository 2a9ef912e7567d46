"""Schema documents of both manifests: which are untouched, and how two of them compare."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from registry.risk_diff.place import Note, Path, Place
from registry.risk_diff.schema.compare import compare
from registry.risk_diff.schema.node import Effort, Frame, Node, Role, Trail
from registry.risk_diff.schema.sources import Source, has_references, shelved
from registry.risk_diff.values import member, same


@dataclass
class Library:
    """The `schemas` of both manifests, and which documents have been compared with which."""

    old: Mapping[str, object]
    new: Mapping[str, object]
    pairs: set[tuple[str, str]] = field(default_factory=set)
    effort: Effort = field(default_factory=Effort)
    _touched: dict[str, bool] = field(default_factory=dict)
    _sources: dict[tuple[str, str], Source] = field(default_factory=dict)

    @classmethod
    def of(cls, old: object, new: object) -> "Library":
        """The libraries of two manifests, empty where there is none."""
        return cls(_schemas(old), _schemas(new))

    def old_source(self, reference: object) -> Source | None:
        """The old manifest's document of that name."""
        return self._source("old", self.old, reference)

    def new_source(self, reference: object) -> Source | None:
        """The new manifest's document of that name."""
        return self._source("new", self.new, reference)

    def _source(self, side: str, shelf: Mapping[str, object], reference: object) -> Source | None:
        if not isinstance(reference, str) or reference not in shelf:
            return None
        if (side, reference) not in self._sources:
            self._sources[side, reference] = shelved(reference, shelf)
        return self._sources[side, reference]

    def untouched(self, name: str) -> bool:
        """Whether a document and all it may refer to are as they were."""
        if self._differs(name):
            return False
        document = self.new.get(name)
        return not has_references(document) or not any(map(self._differs, self._all_names()))

    def _all_names(self) -> set[str]:
        return {*self.old, *self.new}

    def _differs(self, name: str) -> bool:
        if name not in self._touched:
            missing = name not in self.old or name not in self.new
            self._touched[name] = missing or not same(self.old[name], self.new[name])
        return self._touched[name]


def _schemas(manifest: object) -> Mapping[str, object]:
    found = member(manifest, "schemas")
    return found if isinstance(found, dict) else {}


def compare_documents(
    role: Role,
    old: Source,
    new: Source,
    *,
    subject: str,
    base: Path | None = None,
    library: Library | None = None,
) -> Iterator[Note]:
    """Every change between two schema documents; `base` is where unnamed ones stand."""
    path: Path = base if base is not None else ("schemas", (old.name, new.name))
    trail = Trail(library.effort) if library is not None else Trail()
    if old.name and new.name:
        trail.pairs.add((old.name, new.name))
    frame = Frame(
        role,
        old,
        new,
        path,
        unevaluated=old.has_unevaluated or new.has_unevaluated,
        trail=trail,
    )
    place = Place(old.root, new.root, path, old.tokens, new.tokens, subject)
    yield from compare(Node(place, frame))
    if library is not None:
        library.pairs |= trail.pairs
