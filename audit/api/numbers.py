"""Numbers in the query of an address: whole, not too large, and no others than are known."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rest_framework.request import Request

from contextos.core.errors import coded_error
from contextos.core.text import single_line

_NUMBER = re.compile(r"[0-9]{1,18}")


def read_numbers(
    request: Request, *, known: Sequence[str], required: Sequence[str] = ()
) -> dict[str, int]:
    """Each number by its name; whatever else stands in the query is 400."""
    asked = request.query_params
    for name in asked:
        if name not in known:
            said = f"There is no parameter called {single_line(name, limit=50)}."
            raise coded_error("request.invalid", message=said, data={"known": sorted(known)})
    for name in required:
        if name not in asked:
            raise coded_error("request.invalid", message=f"{name} is missing.")
    return {name: _number(name, asked.getlist(name)) for name in asked}


def _number(name: str, given: Sequence[str]) -> int:
    if len(given) != 1 or not given[0].isascii() or not _NUMBER.fullmatch(given[0]):
        raise coded_error("request.invalid", message=f"{name} has to be one whole number.")
    return int(given[0])
