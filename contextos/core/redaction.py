"""Redaction that says what it removed: by name, by pointer, and by the look of a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contextos.core import json_pointer
from contextos.core.secret_patterns import (
    MARK,
    NameVerdict,
    hide_everything,
    hide_shapes,
    judge_name,
)

__all__ = ["DEFAULT_RULES", "MARK", "Redacted", "RedactionRules", "hide", "redact", "redact_text"]

# Deeper than any document we accept; what lies below is hidden rather than walked.
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """What to hide beyond the built-in names and shapes.

    `pointers` name places in the document; `*` as a token stands for any key or index.
    `names` are further member names to hide, compared without regard to case.
    """

    pointers: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Redacted:
    """A copy of the value that is safe to show, and the pointers where something was hidden."""

    value: Any
    removed: tuple[str, ...]


DEFAULT_RULES = RedactionRules()


def redact(value: object, rules: RedactionRules = DEFAULT_RULES) -> Redacted:
    """A redacted copy of a JSON value; the original is left as it is."""
    redactor = _Redactor(
        paths=tuple(json_pointer.split(pointer) for pointer in rules.pointers),
        names=frozenset(name.casefold() for name in rules.names),
    )
    cleaned = redactor.visit(value, ())
    return Redacted(value=cleaned, removed=tuple(redactor.removed))


def hide(value: object, rules: RedactionRules) -> Redacted:
    """A copy of a JSON value without what the rules name, and with everything else as it is."""
    redactor = _Redactor(
        paths=tuple(json_pointer.split(pointer) for pointer in rules.pointers),
        names=frozenset(name.casefold() for name in rules.names),
        built_in=False,
    )
    cleaned = redactor.visit(value, ())
    return Redacted(value=cleaned, removed=tuple(redactor.removed))


def redact_text(text: str) -> str:
    """A line of free text, such as a log line or an upstream's error, without its secrets."""
    return hide_everything(text)


@dataclass(slots=True)
class _Redactor:
    """One walk through one value."""

    paths: tuple[tuple[str, ...], ...]
    names: frozenset[str]
    built_in: bool = True  # also what looks like a secret by its name or its shape
    removed: list[str] = field(default_factory=list)

    def visit(self, value: object, path: tuple[str, ...]) -> object:
        if len(path) > _MAX_DEPTH or (self.paths and self._is_named(path)):
            return self._hide(value, path)
        if isinstance(value, Mapping):
            return self._visit_members(value, path)
        if isinstance(value, list | tuple):
            return [self.visit(item, (*path, str(at))) for at, item in enumerate(value)]
        return self._visit_leaf(value, path)

    def _visit_members(self, value: Mapping[Any, Any], path: tuple[str, ...]) -> dict[str, object]:
        members: dict[str, object] = {}
        for key, member in value.items():
            shown = hide_shapes(str(key)) if self.built_in else str(key)
            name = _unused(shown, members)
            inner = (*path, name)
            hidden = self._hides(shown, member)  # chance words inside a token say nothing
            members[name] = self._hide(member, inner) if hidden else self.visit(member, inner)
        return members

    def _visit_leaf(self, value: object, path: tuple[str, ...]) -> object:
        if value is None or isinstance(value, bool | int | float) or not self.built_in:
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return self._hide(value, path)
        # Anything else would be turned to text later, and could carry a secret past us.
        cleaned = hide_shapes(value) if isinstance(value, str) else hide_everything(str(value))
        if cleaned != value and isinstance(value, str):
            self.removed.append(json_pointer.join(path))
        return cleaned

    def _hide(self, value: object, path: tuple[str, ...]) -> object:
        if value == MARK:
            return value
        self.removed.append(json_pointer.join(path))
        return MARK

    def _hides(self, key: str, member: object) -> bool:
        if member is None or isinstance(member, bool) or member == "":
            return False
        if key.casefold() in self.names:
            return True
        if not self.built_in:
            return False
        verdict = judge_name(key)
        if verdict is NameVerdict.SECRET_UNLESS_NUMBER:
            return not isinstance(member, int | float)
        return verdict is NameVerdict.SECRET

    def _is_named(self, path: tuple[str, ...]) -> bool:
        return any(_matches(pattern, path) for pattern in self.paths)


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return len(pattern) == len(path) and all(
        wanted in ("*", token) for wanted, token in zip(pattern, path, strict=True)
    )


def _unused(name: str, members: Mapping[str, object]) -> str:
    # Two keys that were both secrets must not swallow each other.
    candidate, number = name, 2
    while candidate in members:
        candidate, number = f"{name}#{number}", number + 1
    return candidate
