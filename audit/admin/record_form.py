"""The form of the search: fields, choices, periods, columns, each as an address spells it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils import timezone

from audit.admin.record_columns import COLUMNS, chosen_columns
from audit.record_filter import MODES, OUTCOME_NAMES, STATUSES, RecordFilter, read_filter
from contextos.adminkit.links import named_url
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line

ROWS = "rows"  # show every row of a decision, not only the last
# Of the page, or what lists of the admin carry in their addresses.
_OWN = frozenset({"after", "show", "columns", "q", "all", "p", "o", "e"})
_TRACE = re.compile(r"[0-9a-f]{32}")
# The first few stand open, the others fold.
_OPEN = ("capability", "approver", "amount_min", "agent", "user")
_TEXT_FIELDS = (
    ("capability", "Capability", "payments.issue_refund"),
    ("approver", "Approved by", "name or user_…"),
    ("amount_min", "Amount from", "3000"),
    ("agent", "Agent", "agent id"),
    ("user", "For", "name or user_…"),
    ("amount_max", "Amount to", "10000"),
    ("currency", "Currency", "INR"),
    ("rule", "Policy rule", "rule id"),
    ("gate", "Gate", "GATE_…"),
    ("error", "Error code", "args.schema"),
    ("adapter", "Adapter", "adp_…"),
    ("intent", "Intent", "support.refund"),
    ("decision", "Decision", "dec_…"),
    ("run", "Run", "run_…"),
    ("trace", "Trace", "32 hex digits"),
)
_CHOICES = (
    ("status", "Status", STATUSES),
    ("outcome", "Outcome", OUTCOME_NAMES),
    ("mode", "Mode", MODES),
)
_VALUES = frozenset({"amount_min", "amount_max", "currency"})


def read_asked(asked: QueryDict) -> RecordFilter:
    """The filter in an address; a choice may be given several times."""
    given: dict[str, Any] = {name: asked[name] for name in asked if name not in _OWN}
    for name, _, _ in _CHOICES:
        if name in given:
            given[name] = [part for text in asked.getlist(name) for part in text.split(",")]
    return read_filter({**_found_by(asked.get("q", "")), **given, "ended": _ended(asked)})


def _found_by(words: str) -> dict[str, str]:
    """What somebody typed into one box: an id of some kind, else a capability."""
    typed = words.strip()[:200]
    kinds = {"dec_": "decision", "run_": "run", "adp_": "adapter", "user_": "user"}
    name = next((kind for prefix, kind in kinds.items() if typed.startswith(prefix)), "capability")
    return {"trace" if _TRACE.fullmatch(typed) else name: typed} if typed else {}


def _ended(asked: QueryDict) -> bool:
    return asked.get("show") != ROWS


def form_context(asked: QueryDict, *, sees_values: bool) -> dict[str, Any]:
    """Everything the form shows."""
    fields, (status, *choices) = _fields(asked, sees_values=sees_values), _choices(asked)
    return {
        "open_fields": [item for item in fields if item["key"] in _OPEN],
        "folded_fields": [item for item in fields if item["key"] not in _OPEN],
        "status_choice": status,
        "choices": choices,
        "chips": _chips(asked),
        "since": asked.get("from", ""),
        "until": asked.get("to", ""),
        "periods": _periods(asked),
        "tabs": _tabs(asked),
        "every_row": asked.get("show") == ROWS,
        "columns": _column_boxes(asked, sees_values=sees_values),
        "export_url": _export_url(asked),
    }


def column_keys(asked: QueryDict) -> list[str]:
    """The columns that an address names."""
    return [part for text in asked.getlist("columns") for part in text.split(",")]


def flat(asked: QueryDict) -> dict[str, list[str]]:
    """An address as `urlencode` wants it."""
    return {name: asked.getlist(name) for name in asked}


def _fields(asked: QueryDict, *, sees_values: bool) -> list[dict[str, Any]]:
    return [
        {"key": key, "title": title, "hint": hint, "value": reveal_invisible(asked.get(key, ""))}
        for key, title, hint in _TEXT_FIELDS
        if sees_values or key not in _VALUES
    ]


def _choices(asked: QueryDict) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "title": title,
            "options": [
                {"value": value, "label": _words(value), "chosen": value in asked.getlist(key)}
                for value in values
            ],
        }
        for key, title, values in _CHOICES
    ]


def _chips(asked: QueryDict) -> list[dict[str, str]]:
    """What the search is narrowed to, each with the address that takes it away."""
    titles = {"from": "From", "to": "Before", "q": "Find"}
    titles |= {key: title for key, title, _ in (*_TEXT_FIELDS, *_CHOICES)}
    found = []
    for name in asked:
        if name in titles:
            rest = {key: value for key, value in flat(asked).items() if key != name}
            value = single_line(", ".join(asked.getlist(name)), limit=60)
            url = f"?{urlencode(rest, doseq=True)}"
            found.append({"title": titles[name], "value": value, "url": url})
    return found


def _words(value: str) -> str:
    return value.lower().replace("_", " ").capitalize()


def _column_boxes(asked: QueryDict, *, sees_values: bool) -> list[dict[str, Any]]:
    found = chosen_columns(column_keys(asked), sees_values=sees_values)
    shown = {column.key for column in found}
    return [
        {"key": key, "title": column.title, "chosen": key in shown}
        for key, column in COLUMNS.items()
        if sees_values or key != "amount"
    ]


def _tabs(asked: QueryDict) -> list[dict[str, Any]]:
    every = asked.get("show") == ROWS
    kept = {name: value for name, value in flat(asked).items() if name != "show"}
    return [
        {"title": "Decisions", "url": f"?{urlencode(kept, doseq=True)}", "chosen": not every},
        {
            "title": "Every row",
            "url": f"?{urlencode({**kept, 'show': ROWS}, doseq=True)}",
            "chosen": every,
        },
    ]


def _periods(asked: QueryDict) -> list[dict[str, str]]:
    """The periods that auditors ask for, as addresses."""
    today = timezone.now().date()
    month = today.replace(day=1)
    last = (month - timedelta(days=1)).replace(day=1)
    spans = (
        ("Today", today, None),
        ("7 days", today - timedelta(days=6), None),
        ("This month", month, None),
        ("Last month", last, month),
        ("All time", None, None),
    )
    rest = {name: value for name, value in flat(asked).items() if name not in ("from", "to")}
    found = []
    for title, since, until in spans:
        bounds = {"from": since, "to": until}
        given = {name: day.isoformat() for name, day in bounds.items() if day is not None}
        found.append({"title": title, "url": f"?{urlencode({**rest, **given}, doseq=True)}"})
    return found


def _export_url(asked: QueryDict) -> str:
    """The page that exports exactly what was found; none for a search that can't be read."""
    try:
        wanted = read_asked(asked)
    except ContextOSError:
        return ""
    url = named_url("admin:audit_export_new")
    return f"{url}?{urlencode(wanted.as_given())}" if url else ""
