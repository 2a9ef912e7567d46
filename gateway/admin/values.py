"""Arguments, outputs and records written out for people: masked, quoted, nothing invisible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from audit.payloads import open_payload
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import join, split
from contextos.core.redaction import RedactionRules, redact
from contextos.core.text import reveal_invisible

LONGEST = 20_000
_DEEPEST = 12


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


def secret_pointers(schema: Any) -> Iterator[str]:
    """The places a schema marks as secret: `writeOnly`, `format: password`, `x-secret`."""
    for path in _secret_paths(schema, schema, (), _DEEPEST):
        yield join(path)


def _secret_paths(
    schema: Any, root: Any, path: tuple[str, ...], depth: int
) -> Iterator[tuple[str, ...]]:
    schema = _followed(schema, root)
    if not isinstance(schema, Mapping) or depth == 0:
        return
    if _is_secret(schema):
        yield path
        return
    for step, inner in _parts(schema):
        yield from _secret_paths(inner, root, (*path, *step), depth - 1)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What a schema is made of, with the step that leads there."""
    members = schema.get("properties")
    for name, inner in members.items() if isinstance(members, Mapping) else ():
        yield (str(name),), inner
    for name in ("items", "additionalProperties"):
        yield ("*",), schema.get(name)
    for name in ("allOf", "anyOf", "oneOf"):
        for inner in schema.get(name) or ():
            yield (), inner


def _followed(schema: Any, root: Any) -> Any:
    """Where a `$ref` within the same document leads; one step, since these do not chain here."""
    ref = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(ref, str) or not ref.startswith("#/"):
        return schema
    found = root
    for token in split(ref[1:]):
        found = found.get(token) if isinstance(found, Mapping) else None
    return found


def _is_secret(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("writeOnly") is True
        or schema.get("x-secret") is True
        or schema.get("format") == "password"
    )
