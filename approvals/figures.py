"""Numbers, amounts and spans of time, written as the viewer is used to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.http import HttpRequest
from django.utils import numberformat
from django.utils.formats import get_format
from django.utils.translation import get_language_from_request

_IN_INDIA = re.compile(r"^[a-z]{2,3}-in\b", re.IGNORECASE)
_INDIAN = (3, 2, 0)  # 4,20,000
_STEPS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@dataclass(frozen=True, slots=True)
class Figures:
    """How one viewer's browser wants numbers; the language of the pages stays the site's."""

    decimal_sign: str = "."
    thousands_sign: str = ","
    grouping: int | tuple[int, ...] = 3

    def number(self, value: int | float | Decimal) -> str:
        """Every digit, grouped; nothing is rounded."""
        exact = value if isinstance(value, int) else Decimal(str(value))
        text = f"{exact:f}" if isinstance(exact, Decimal) else str(exact)
        return numberformat.format(
            text,
            self.decimal_sign,
            grouping=self.grouping,
            thousand_sep=self.thousands_sign,
            force_grouping=True,
            use_l10n=False,
        )

    def amount(self, value: Decimal | None, unit: str) -> str:
        """`4,200 INR`; cents only where there are some."""
        if value is None:
            return ""
        whole = value == value.to_integral_value()
        shown = self.number(int(value) if whole else value.quantize(Decimal("0.01")))
        return f"{shown} {unit}".strip()


def figures_of(request: HttpRequest) -> Figures:
    """By the languages the browser asks for."""
    wanted = request.headers.get("Accept-Language", "")
    language = get_language_from_request(request)
    return Figures(
        decimal_sign=str(get_format("DECIMAL_SEPARATOR", language, use_l10n=True)),
        thousands_sign=str(get_format("THOUSAND_SEPARATOR", language, use_l10n=True)),
        grouping=_INDIAN if _IN_INDIA.match(wanted.strip()) else 3,
    )


def span(length: timedelta) -> str:
    """`2 days`, `5 hours`, `12 minutes`, `40 seconds`: the largest unit that fits twice, or one."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in _STEPS:
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
