"""What a new version of a pack or a policy bundle changes, part by part, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from contextos.adminkit.display import Tone, badge
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from contextos.review.document_versions import DocumentVersion
from contextos.review.signed_documents import document_of
from registry.admin.comparison import value_text
from registry.document_selectors import published_predecessor

# Lists whose entries go by an id: where they stand, what an entry is called, its id.
_LISTED = (
    (("tooling_layer", "permissions"), "Permission", "permission_id"),
    (("decision_layer", "decision_specs"), "Decision", "decision_key"),
    (("skills",), "Skill", "skill_id"),
    (("rules",), "Rule", "rule_id"),
    (("tests",), "Test", "name"),
)
_TONES: dict[str, Tone] = {"added": "info", "removed": "warning", "changed": "warning"}
_NOT_COMPARED = frozenset({"version"})
# What a part is, whatever stands around it: its title alone may be cut short or used twice.
Identity = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartChange:
    """One part that was added, removed or changed."""

    number: int
    word: str
    badge: SafeString
    title: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DocumentComparison:
    """All changes since what is published; `fault` says why it could not be read."""

    against: Any = None
    changes: tuple[PartChange, ...] = ()
    unchanged: tuple[str, ...] = ()
    fault: str = ""


def compare_documents(version: DocumentVersion) -> DocumentComparison:
    """With what is published now; where nothing is, every part is new."""
    against = published_predecessor(version)
    try:
        before = dict(_parts(document_of(against))) if against is not None else {}
        after = dict(_parts(document_of(version)))
    except ContextOSError as refusal:
        return DocumentComparison(against, fault=f"{refusal.message} {refusal.remediation}")
    names = [*after, *(name for name in before if name not in after)]
    differing = [name for name in names if before.get(name) != after.get(name)]
    return DocumentComparison(
        against,
        tuple(
            _change(number, name, before, after) for number, name in enumerate(differing, start=1)
        ),
        tuple(_title(name) for name in names if name not in differing),
    )


def _change(
    number: int, name: Identity, before: Mapping[Identity, Any], after: Mapping[Identity, Any]
) -> PartChange:
    word = "added" if name not in before else "removed" if name not in after else "changed"
    return PartChange(
        number=number,
        word=word,
        badge=badge(word, _TONES[word]),
        title=_title(name),
        before=value_text(before.get(name)),
        after=value_text(after.get(name)),
    )


def _parts(document: Mapping[str, Any]) -> Iterator[tuple[Identity, Any]]:
    """Entries of the known lists under their own ids; everything else member by member."""
    rest = {name: value for name, value in document.items() if name not in _NOT_COMPARED}
    for path, word, key in _LISTED:
        entries = _at(rest, path)
        if isinstance(entries, list):
            yield from _entries(entries, word, key)
            rest = _without(rest, path)
    for name, value in rest.items():
        yield (name,), value


def _entries(entries: list[Any], word: str, key: str) -> Iterator[tuple[Identity, Any]]:
    """Each by its id; of several with one id every one, told apart by count."""
    seen: Counter[str] = Counter()
    for index, entry in enumerate(entries, start=1):
        name = _name(entry, key, index)
        seen[name] += 1
        repeat = () if seen[name] == 1 else (f"(repeat {seen[name]})",)
        yield (word, name, *repeat), entry


def _title(name: Identity) -> str:
    return " ".join(single_line(part, limit=120) for part in name)


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def _name(entry: Any, key: str, index: int) -> str:
    named = entry.get(key) if isinstance(entry, dict) else None
    return named if isinstance(named, str) and named else str(index)


def _without(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if len(path) == 1:
        return {name: value for name, value in document.items() if name != path[0]}
    inner = _without(dict(document[path[0]]), path[1:])
    rest = {name: value for name, value in document.items() if name != path[0]}
    return {**rest, path[0]: inner} if inner else rest
