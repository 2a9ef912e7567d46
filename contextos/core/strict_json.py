"""The one way JSON comes in: RFC 8259 to the letter, bounded, and every failure coded."""

import json
import math
import re
from typing import Any, NoReturn, TypeAlias

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.json_pointer import walk

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None

_LONGEST = 4  # bytes of a character in UTF-8
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
# Enough for any double written out in full; far below what makes int() slow or fail.
_MAX_INTEGER_DIGITS = 400

# A string is consumed whole (possessively, so the scan is linear) and its brackets don't count.
_BRACKETS_AND_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def loads(
    data: bytes | str,
    *,
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
    allow_unstorable: bool = False,
) -> JSON:
    """Parse one JSON document; raises nothing but `ContextOSError`.

    `allow_unstorable` lets U+0000 and lone surrogates pass: only for documents that are read
    and dropped, since neither PostgreSQL nor canonical JSON can hold them.
    """
    text = _decode(data, max_bytes)
    refuse_depth(text, max_depth)
    value = _parse(text, max_depth)
    # Past the decoder, only an escape can bring such a character in.
    if not allow_unstorable and "\\u" in text:
        refuse_unstorable(value)
    return value


def refuse_unreadable(text: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> None:
    """Refuse what our own writer made too large or too deep for `loads` to read back."""
    refuse_size(text, max_bytes)
    refuse_depth(text, max_depth)


def loads_object(
    data: bytes | str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH
) -> dict[str, JSON]:
    """Parse a document that has to be an object, as request bodies do."""
    value = loads(data, max_bytes=max_bytes, max_depth=max_depth)
    if not isinstance(value, dict):
        raise coded_error("json.not_an_object")
    return value


def dumps(value: object) -> str:
    """Compact JSON text; refuses NaN and infinity. For hashes use `canonical` instead."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise coded_error("json.unstorable", message="The value has no JSON form.") from error


def storable(text: str) -> str:
    """The text with what can't be stored replaced: for words of others that have to be kept."""
    return _UNSTORABLE.sub("\ufffd", text)


def refuse_depth(text: str, max_depth: int = MAX_DEPTH) -> None:
    """Raise if the JSON text is nested deeper; done before a parser that recurses sees it."""
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for match in _BRACKETS_AND_STRINGS.finditer(text):
        mark = match.group()
        if mark in ("[", "{"):
            depth += 1
            if depth > max_depth:
                raise _too_deep(max_depth)
        elif mark in ("]", "}"):
            depth -= 1


def refuse_unstorable(value: object) -> None:
    """Raise if any string or key in the value can't be stored, naming where it stands."""
    for pointer, item in walk(value):
        if isinstance(item, str) and _UNSTORABLE.search(item):
            raise coded_error(
                "json.unstorable",
                message="A string holds U+0000 or a lone surrogate.",
                data={"pointer": storable(pointer)},
            )


def refuse_size(data: bytes | str, max_bytes: int) -> None:
    """Raise unless the document has at most so many bytes."""
    if len(data) * _LONGEST <= max_bytes:
        return
    if len(data) > max_bytes or (isinstance(data, str) and len(_encode(data)) > max_bytes):
        raise coded_error(
            "json.too_large",
            message=f"The document has more than the {max_bytes} bytes that are accepted.",
            data={"max_bytes": max_bytes},
        )


def _decode(data: bytes | str, max_bytes: int) -> str:
    raw = _encode(data) if isinstance(data, str) else data
    refuse_size(raw, max_bytes)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise coded_error(
            "json.malformed",
            message=f"The document is not UTF-8 at byte {error.start}.",
            data={"byte": error.start},
        ) from None
    if text.startswith("\ufeff"):
        raise coded_error("json.malformed", message="The document starts with a byte order mark.")
    return text


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise coded_error("json.unstorable", message="The text holds a lone surrogate.") from None


def _too_deep(max_depth: int) -> ContextOSError:
    return coded_error(
        "json.too_deep",
        message=f"The document is nested more than {max_depth} levels deep.",
        data={"max_depth": max_depth},
    )


def _parse(text: str, max_depth: int) -> JSON:
    try:
        value: JSON = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise coded_error(
            "json.malformed",
            message=f"{error.msg} at line {error.lineno}, column {error.colno}.",
            data={"line": error.lineno, "column": error.colno},
        ) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    return value


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise coded_error("json.duplicate_key", data={"key": _first_repeated(pairs)})
    return members


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return storable(key)


def _refuse_constant(name: str) -> NoReturn:
    raise coded_error("json.malformed", message=f"{name} is not a JSON number.")


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_INTEGER_DIGITS:
        raise coded_error(
            "json.integer_too_large",
            message=f"An integer has more than {_MAX_INTEGER_DIGITS} digits.",
        )
    return int(digits)


def _finite_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise coded_error("json.number_out_of_range")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members,
    parse_constant=_refuse_constant,
    parse_int=_bounded_int,
    parse_float=_finite_float,
)
