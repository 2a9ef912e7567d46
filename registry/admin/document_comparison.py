"""What a new version of a pack or a policy bundle changes, part by part, side by side."""

from __future__ import annotations

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
    titles = [*after, *(title for title in before if title not in after)]
    differing = [title for title in titles if before.get(title) != after.get(title)]
    return DocumentComparison(
        against,
        tuple(
            _change(number, title, before, after) for number, title in enumerate(differing, start=1)
        ),
        tuple(title for title in titles if title not in differing),
    )


def _change(
    number: int, title: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> PartChange:
    word = "added" if title not in before else "removed" if title not in after else "changed"
    return PartChange(
        number=number,
        word=word,
        badge=badge(word, _TONES[word]),
        title=title,
        before=value_text(before.get(title)),
        after=value_text(after.get(title)),
    )


def _parts(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Entries of the known lists under their own ids; everything else member by member."""
    rest = {name: value for name, value in document.items() if name not in _NOT_COMPARED}
    for path, word, key in _LISTED:
        entries = _at(rest, path)
        if isinstance(entries, list):
            for index, entry in enumerate(entries, start=1):
                yield f"{word} {_name(entry, key, index)}", entry
            rest = _without(rest, path)
    for name, value in rest.items():
        yield single_line(name, limit=100), value


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def _name(entry: Any, key: str, index: int) -> str:
    named = entry.get(key) if isinstance(entry, dict) else None
    return single_line(named, limit=120) if isinstance(named, str) and named else str(index)


def _without(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if len(path) == 1:
        return {name: value for name, value in document.items() if name != path[0]}
    inner = _without(dict(document[path[0]]), path[1:])
    rest = {name: value for name, value in document.items() if name != path[0]}
    return {**rest, path[0]: inner} if inner else rest
