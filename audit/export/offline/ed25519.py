"""Ed25519 signatures checked with Python's standard library alone (RFC 8032, section 5.1.7).

Strict: the second half of a signature must be below the group order, and points must be written
in their one shortest form, so that nobody can make a second signature out of a first one. It only
checks and never signs, so it need not take the same time for every input.
"""

from __future__ import annotations

import hashlib
from typing import Tuple

Point = Tuple[int, int, int, int]
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
_ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
# Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x*y = T/Z.
_NEUTRAL = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the key made this signature over exactly these bytes."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, commitment = _decoded(public_key), _decoded(signature[:32])
    answer = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or answer >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    expected = _added(commitment, _times(challenge, key))
    return _same(_times(answer, BASE), expected)


def _decoded(text: bytes) -> Point | None:
    """The point that 32 bytes stand for; None where they are not its one right form."""
    number = int.from_bytes(text, "little")
    odd, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    x = _x_of(y, odd)
    return None if x is None else (x, y, 1, x * y % P)


def _x_of(y: int, odd: int) -> int | None:
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if square == 0:
        return None if odd else 0
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * _ROOT_OF_MINUS_ONE % P
    if (x * x - square) % P:
        return None
    return P - x if x & 1 != odd else x


def _added(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % P
    b = (one[1] + one[0]) * (other[1] + other[0]) % P
    c = 2 * one[3] * other[3] * D % P
    d = 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, point: Point) -> Point:
    found = _NEUTRAL
    while number:
        if number & 1:
            found = _added(found, point)
        point = _added(point, point)
        number >>= 1
    return found


def _same(one: Point, other: Point) -> bool:
    across = (one[0] * other[2] - other[0] * one[2]) % P
    along = (one[1] * other[2] - other[1] * one[2]) % P
    return across == 0 and along == 0


_BASE_Y = 4 * pow(5, P - 2, P) % P
_BASE_X = _x_of(_BASE_Y, 0) or 0
BASE = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % P)
