"""Canonical JSON (RFC 8785) and the digests taken over it."""

import hashlib
import math
import os
import re
from collections.abc import Mapping
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
_SORTED_AND_SAFE = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_WRITTEN_ALIKE = frozenset({str, bool, int, type(None)})  # by every JSON writer
_HELD_FREE = os.urandom(16).hex()  # no text of a caller holds it: it is never shown


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
        # It also ends what contains itself, before anybody walks through it.
        encoded = orjson.dumps(value, option=_SORTED_AND_SAFE)
        return encoded if _is_plain(value) else None
    except TypeError:  # a key or value that is not JSON, or not for orjson, or a large integer
        return None


def _is_plain(value: object) -> bool:
    left: list[Any] = [value]
    for item in left:  # grows by what each container holds that has to be looked at
        kind = type(item)
        if kind is dict:
            if not "".join(item).isascii():
                return False
            left += [held for held in item.values() if type(held) not in _WRITTEN_ALIKE]
        elif kind is list or kind is tuple:
            left += [held for held in item if type(held) not in _WRITTEN_ALIKE]
        elif kind not in _WRITTEN_ALIKE:
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

    Something that nobody else can have written stands in its place and is taken out again.
    """
    name_spelled, held = _place_of(name)
    head, _, tail = canonicalise({**members, name: _HELD_FREE}).partition(held)
    return Frame(head + name_spelled, tail)


@lru_cache(maxsize=256)
def _place_of(name: str) -> tuple[bytes, bytes]:
    """A member's name with its colon, and the same with what holds its place."""
    spelled = canonicalise(name) + b":"
    return spelled, spelled + canonicalise(_HELD_FREE)


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
