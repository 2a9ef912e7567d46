"""Kinds of fields: how a value of the manifest is shown in a form and read back from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.review.document_text import pretty

_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,9})?")


class Kind(StrEnum):
    """What a field looks like and which JSON type it stands for."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    NUMBER = "number"
    CHOICE = "choice"
    YES_NO = "yes_no"
    LINES = "lines"
    JSON = "json"


Choices = tuple[tuple[str, str], ...]
YES_NO_CHOICES: Choices = (("true", "Yes"), ("false", "No"))


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field; `path` names members below the manifest, or below each capability."""

    path: tuple[str, ...]
    label: str
    help: str = ""
    kind: Kind = Kind.TEXT
    choices: Choices = ()
    placeholder: str = ""


@dataclass(frozen=True, slots=True)
class FieldFault(Exception):  # noqa: N818 - a fault of the person's input, shown at the field
    """What was typed can't be taken."""

    message: str


class _Absent:
    """Stands for a member that is not in the document."""


ABSENT = _Absent()


def fits(kind: Kind, value: Any) -> bool:
    """Whether a field of this kind can show the value without losing any of it."""
    if value is ABSENT or value is None or kind is Kind.JSON:
        return True
    if kind is Kind.YES_NO:
        return isinstance(value, bool)
    if kind is Kind.NUMBER:
        return _NUMBER.fullmatch(str(value)) is not None and not isinstance(value, bool | str)
    if kind is Kind.LINES:
        return isinstance(value, list) and all(item and _is_line(item) for item in value)
    if kind is Kind.LONG_TEXT:
        return isinstance(value, str) and value == value.strip() and "\r" not in value
    return _is_line(value)


def _is_line(value: Any) -> bool:
    """What a browser gives back as it was: no line breaks, no white space around it."""
    return isinstance(value, str) and value == value.strip() and not set("\r\n") & set(value)


def shown(kind: Kind, value: Any) -> str:
    """The value as the text of a field."""
    if value is ABSENT or value is None:
        return ""
    if kind is Kind.JSON:
        return pretty(value)
    if kind is Kind.YES_NO:
        return "true" if value else "false"
    if kind is Kind.LINES:
        return "\n".join(value)
    return str(value)


def read(kind: Kind, text: str) -> Any:
    """The value that a field's text stands for; nothing typed means the member is left out."""
    bare = text.strip()
    if not bare:
        return ABSENT
    if kind is Kind.JSON:
        return _read_json(bare)
    if kind is Kind.YES_NO:
        return bare == "true"
    if kind is Kind.NUMBER:
        return _read_number(bare)
    if kind is Kind.LINES:
        lines = bare.replace("\r\n", "\n").split("\n")
        return [line.strip() for line in lines if line.strip()]
    return bare.replace("\r\n", "\n")


def _read_json(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except ContextOSError as refusal:
        raise FieldFault(f"Not JSON: {refusal.message}") from None


def _read_number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise FieldFault(f"{text[:40]!r} is not a number.")
    return float(text) if "." in text else int(text)


def whole_number(text: str) -> int | None:
    """The number that a button or a hidden field names; None where it names anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
