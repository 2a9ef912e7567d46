"""What a search of decision records can be narrowed by, read from an address or a body (E3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from audit.decision_record import OUTCOMES, DecisionStatus
from contextos.core.clock import format_time, parse_time
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.modes import ApprovalMode
from contextos.core.text import single_line

LONGEST = 200
LARGEST = Decimal(10) ** 17
STATUSES = tuple(status.value for status in DecisionStatus)
OUTCOME_NAMES = tuple(sorted(set(OUTCOMES.values())))
MODES = tuple(mode.value for mode in ApprovalMode)
_CHOICES = {"status": STATUSES, "outcome": OUTCOME_NAMES, "mode": MODES}
_TEXTS = (
    *("capability", "adapter", "agent", "user", "approver", "rule", "gate"),
    *("trace", "run", "decision", "intent", "error", "currency"),
)
_NAMED = {"from": "since", "to": "until"}  # words that Python keeps for itself
_GIVEN = {inside: given for given, inside in _NAMED.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Every member narrows further; `status` and the other choices may name several values."""

    since: datetime | None = None
    until: datetime | None = None
    capability: str = ""
    adapter: str = ""
    status: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    mode: tuple[str, ...] = ()
    agent: str = ""
    user: str = ""
    approver: str = ""
    rule: str = ""
    gate: str = ""
    trace: str = ""
    run: str = ""
    decision: str = ""
    intent: str = ""
    error: str = ""
    currency: str = ""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    ended: bool = False  # only the row that ends each decision: one line for each

    @property
    def asks_for_values(self) -> bool:
        """Whether it looks into what decisions were about, which needs a clearance."""
        return self.amount_min is not None or self.amount_max is not None or bool(self.currency)

    @property
    def is_narrowed(self) -> bool:
        """Whether anything was asked for but the one line for each decision."""
        return bool(set(self.as_given()) - {"ended"})

    def as_given(self) -> dict[str, str]:
        """As an address spells it; what is not narrowed is left out. For links, events, exports."""
        spelled = {
            _GIVEN.get(item.name, item.name): _spelled(getattr(self, item.name))
            for item in fields(self)
        }
        return {name: value for name, value in spelled.items() if value}


PARAMETERS = tuple(_GIVEN.get(item.name, item.name) for item in fields(RecordFilter))


def read_filter(given: Mapping[str, Any]) -> RecordFilter:
    """From parameters by their names; anything unknown or unreadable is refused by its name."""
    unknown = sorted(set(given) - set(PARAMETERS))
    if unknown:
        raise _refused(
            unknown[0], f"There is no filter called {single_line(unknown[0], limit=50)}."
        )
    wanted = {_NAMED.get(name, name): _read(name, value) for name, value in given.items() if value}
    found = RecordFilter(**wanted)
    if found.since and found.until and found.until <= found.since:
        raise _refused("to", "to lies before from; a period begins before it ends.")
    return found


def _read(name: str, value: Any) -> Any:
    if name in _CHOICES:
        return _choices(name, value)
    if isinstance(value, bool) and name == "ended":
        return value
    text = value.strip() if isinstance(value, str) else str(value)
    if not isinstance(value, str | int | float) or len(text) > LONGEST or "\x00" in text:
        raise _refused(name, f"{name} is a text of at most {LONGEST} characters.")
    if name in ("from", "to"):
        return _moment(name, text)
    if name in ("amount_min", "amount_max"):
        return _amount(name, text)
    return text in ("1", "true", "yes") if name == "ended" else text


def _choices(name: str, value: Any) -> tuple[str, ...]:
    """One value, several with commas between, or a list."""
    parts = value if isinstance(value, list) else str(value).split(",")
    asked = tuple(dict.fromkeys(str(part).strip() for part in parts if str(part).strip()))
    for part in asked:
        if part not in _CHOICES[name]:
            known = ", ".join(_CHOICES[name])
            message = f"There is no {name} called {single_line(part, limit=50)}. Known: {known}."
            raise _refused(name, message)
    return asked


def _moment(name: str, text: str) -> datetime:
    """A moment of RFC 3339, or a day, which begins at midnight UTC."""
    try:
        if len(text) == len("2026-01-31"):
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        return parse_time(text.replace(" ", "+") if "T" in text else text)
    except (ContextOSError, ValueError):
        message = f"{name} is a day (2026-01-31) or a moment (2026-01-31T12:00:00Z), in UTC."
        raise _refused(name, message) from None


def _amount(name: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise _refused(name, f"{name} is a number such as 3000 or 3000.50.") from None
    if not number.is_finite() or abs(number) >= LARGEST:
        raise _refused(name, f"{name} is a number below {LARGEST:f}.")
    return number


def _spelled(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return "1" if value else ""
    if isinstance(value, datetime):
        return format_time(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value or "")


def _refused(name: str, message: str) -> ContextOSError:
    known = {"known": list(PARAMETERS)} if name not in PARAMETERS else {}
    data = {"parameter": single_line(name, limit=50), **known}
    return coded_error("records.filter_invalid", message=message, data=data)
