"""Canonical JSON (RFC 8785) and the digests taken over it."""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
import rfc8785

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.json_pointer import walk
from contextos.core.strict_json import refuse_unstorable

MAX_SAFE_INTEGER = 2**53 - 1
# RFC 8785 writes whole doubles below this without an exponent, so they read back as integers.
_WRITTEN_AS_INTEGER_BELOW = 1e21
_PERHAPS_A_LARGE_INTEGER = re.compile(rb"[0-9]{16}")
_WRITTEN_ALIKE = frozenset({str, bool, type(None)})  # by every JSON writer


def canonicalise(value: object) -> bytes:
    """The canonical bytes of a JSON value: equal values give equal bytes, everywhere."""
    encoded = _plainly(value)
    if encoded is None:
        encoded = _carefully(value)
        _refuse_large_integers(value, encoded)
    if b"\\u0000" in encoded:  # verifiers read the stored text, and U+0000 can't be stored
        refuse_unstorable(value)
    return encoded


def _plainly(value: object) -> bytes | None:
    """The usual document, many times faster: no float, whose spelling differs, and keys in ASCII,
    which sort alike in every encoding. None where that does not hold: the library decides."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if _is_plain([value]) else None
    except (TypeError, RecursionError):  # a key or value that is not JSON, or not for orjson
        return None


def _is_plain(items: Iterable[Any]) -> bool:
    for item in items:
        kind = type(item)
        if kind in _WRITTEN_ALIKE:
            continue
        if kind is dict:
            plain = "".join(item).isascii() and _is_plain(item.values())
        elif kind is list or kind is tuple:
            plain = _is_plain(item)
        else:
            plain = kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER
        if not plain:
            return False
    return True


def _carefully(value: object) -> bytes:
    try:
        # The library states its argument as a recursive union that `object` can't meet.
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except RecursionError:
        message = "The value is nested too deeply to be hashed."
        raise coded_error("json.too_deep", message=message) from None
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        raise _explain(value) from None


def digest(value: object) -> str:
    """`sha256:<hex>` over the canonical bytes of a value."""
    return digest_bytes(canonicalise(value))


@dataclass(frozen=True, slots=True)
class Frame:
    """An object as canonical bytes, but for the value of one member, which may take its turns."""

    head: bytes
    tail: bytes

    def holding(self, value: bytes) -> bytes:
        """The whole, with these canonical bytes as the value that was left out."""
        return self.head + value + self.tail


def frame_around(name: str, members: Mapping[str, object]) -> Frame:
    """What stands around the member of that name, whose own value is not looked at.

    The name has to be ASCII: then what sorts before it is the same in every encoding.
    """
    before = canonicalise({other: members[other] for other in members if other < name})
    after = canonicalise({other: members[other] for other in members if other > name})
    comma = b"," if len(before) > len(b"{}") else b""
    rest = b"," + after[1:] if len(after) > len(b"{}") else b"}"
    return Frame(before[:-1] + comma + _spelled_name(name) + b":", rest)


@lru_cache(maxsize=256)
def _spelled_name(name: str) -> bytes:
    if not name.isascii():
        raise ValueError("only a name in ASCII can be left out")
    return canonicalise(name)


def digest_bytes(data: bytes) -> str:
    """`sha256:<hex>` over bytes as they are."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _refuse_large_integers(value: object, encoded: bytes) -> None:
    # The stored text is the truth and is hashed again by verifiers: 1e16 is written as an integer
    # that no reader may take. The bytes say if a look is needed.
    if _PERHAPS_A_LARGE_INTEGER.search(encoded):
        for pointer, item in walk(value):
            if isinstance(item, int | float) and _is_unsafe_integer(item):
                raise coded_error("json.integer_too_large", data={"pointer": pointer})


def _is_unsafe_integer(number: int | float) -> bool:
    if isinstance(number, float) and abs(number) >= _WRITTEN_AS_INTEGER_BELOW:
        return False
    return abs(number) > MAX_SAFE_INTEGER


def _explain(value: object) -> ContextOSError:
    refuse_unstorable(value)
    for pointer, item in walk(value):
        complaint = _complaint(item)
        if complaint:
            code, message = complaint
            return coded_error(code, message=message, data={"pointer": pointer})
    return coded_error("json.unstorable", message="Object keys must be strings.")


def _complaint(item: object) -> tuple[str, str] | None:
    if isinstance(item, float) and not math.isfinite(item):
        return "json.unstorable", "NaN and infinity are not JSON numbers."
    if isinstance(item, int | float) and _is_unsafe_integer(item):
        return "json.integer_too_large", "An integer lies beyond 2^53."
    if not _is_json_type(item):
        return "json.unstorable", f"A {type(item).__name__} has no JSON form."
    return None


def _is_json_type(item: object) -> bool:
    return item is None or isinstance(item, bool | int | float | str | list | tuple | dict)
