"""Arguments, outputs and records written out for people: masked, quoted, nothing invisible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from audit.payloads import open_payload
from contextos.core.errors import ContextOSError
from contextos.core.redaction import RedactionRules, redact
from contextos.core.secret_schemas import secret_pointers
from contextos.core.text import reveal_invisible

LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class ShownValue:
    """A value as text, and how many places of it are masked; or why it can't be shown."""

    text: str = ""
    masked: int = 0
    fault: str = ""
    safe: Any = None  # the value itself, masked


def shown_value(value: Any, schema: Any = None) -> ShownValue:
    """Secrets masked: by the schema's word, by their name, and by their look."""
    rules = RedactionRules(pointers=tuple(secret_pointers(schema)))
    safe = redact(value, rules)
    return ShownValue(pretty(safe.value), len(safe.removed), safe=safe.value)


def stored_value(*, tenant_id: str, payload_id: str, schema: Any = None) -> ShownValue:
    """A value of the payload store; an erased or damaged one says so."""
    try:
        return shown_value(open_payload(tenant_id=tenant_id, payload_id=payload_id), schema)
    except ContextOSError as fault:
        return ShownValue(fault=f"{fault.message} {fault.remediation}")


def pretty(value: Any) -> str:
    """JSON with indents; what others wrote has its invisible characters spelt out."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    text = orjson.dumps(value, default=str, option=options).decode()
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… {len(text) - LONGEST} more characters"
    return reveal_invisible(text)
