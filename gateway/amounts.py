"""The amount a call is about, read from its arguments by rule (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_AMOUNT = re.compile(r"^(?:amount|total|value|price)(?:_(?P<unit>[a-z]{3}))?$")
_LARGEST_AMOUNT = 1e17  # what the column holds; a larger number is shown among the arguments


def amount_in(args: Mapping[str, Any]) -> tuple[Decimal | None, str]:
    """The amount a queue shows at a glance, with its unit, by the names of the arguments.

    The largest of several: in which order an agent names them must not decide what people see.
    """
    named = [(value, name) for name, value in args.items() if _is_amount(name, value)]
    if not named:
        return None, ""
    value, name = max(named)
    return Decimal(str(value)).quantize(Decimal("0.01")), _unit(name, args.get("currency"))


def _is_amount(name: str, value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < _LARGEST_AMOUNT and _AMOUNT.match(name) is not None


def _unit(name: str, currency: Any) -> str:
    found = _AMOUNT.match(name)
    if found and found["unit"]:
        return found["unit"].upper()
    stated = isinstance(currency, str) and re.fullmatch(r"[A-Z]{3}", currency)
    return str(currency) if stated else ""
