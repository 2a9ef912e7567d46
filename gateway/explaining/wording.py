"""Small pieces of sentences that several explanations share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contextos.core.errors import spec_for
from contextos.core.text import single_line
from gateway.explaining.types import Ref, Refused, SpokenPermission, Way

AUTHOR = "a manifest author, with a reviewer's approval"
ADMIN = "a platform admin"
OPERATOR = "an operator"
DEVELOPER = "the agent's developer"
OWNER = "the adapter's owner"
AGAIN = Way("Call again later with the same key.", DEVELOPER)


def listed(items: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    words = [single_line(str(item), limit=120) for item in items]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def bounds(constraint: object) -> str:
    """A constraint in words: `at most 5000, one of INR, USD`."""
    if not isinstance(constraint, Mapping):
        return "a bound that can't be read"
    words = [f"{word} {_shown(constraint[name])}" for name, word in _WORDS if name in constraint]
    words += ["given at all"] if constraint.get("required") is True else []
    return ", ".join(words) or "no bound"


_WORDS = (
    ("min", "at least"),
    ("max", "at most"),
    ("enum", "one of"),
    ("pattern", "matching"),
)


def _shown(value: Any) -> str:
    values = value if isinstance(value, list | tuple) else [value]
    return single_line(", ".join(map(str, values)), limit=200)


def scope_of(permission: SpokenPermission) -> str:
    """For whom a line of a pack speaks."""
    parts = (
        ("role", permission.roles),
        ("intent", permission.intents),
        ("environment", permission.environments),
    )
    words = [f"{name} {listed(values)}" for name, values in parts if values]
    return "; ".join(words) or "everybody, everywhere"


def sentence(text: str) -> str:
    """Ends with a full stop, once."""
    stripped = text.strip()
    return stripped if not stripped or stripped[-1] in ".!?" else f"{stripped}."


def said(refused: Refused) -> list[str]:
    """What the refusal itself said, as the first of the reasons."""
    return [sentence(refused.message)] if refused.message else []


def titled(refused: Refused) -> str:
    """The headline, where the catalogue's title of the code says it."""
    return f"{spec_for(refused.code).title}."


def remedy(refused: Refused, who: str, ref: Ref | None = None) -> Way:
    """What the catalogue advises, for whom, and where."""
    return Way(spec_for(refused.code).remediation, who, ref)


def again(refused: Refused) -> list[Way]:
    """Another try, where that may help."""
    return [AGAIN] if spec_for(refused.code).retryable else []
