"""Checks a document against its published schema, and refuses it with every fault named."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError, ErrorKind, ErrorSpec, coded_error, register
from contextos.core.strict_json import loads_object
from registry.validation import Problem, compile_schema

_FOLDER = Path(__file__).resolve().parent / "schemas"
_INPUT = ErrorKind.VALIDATION
_READ_SCHEMA = "Compare it with the schema under /schemas/, correct the places named, try again."

register(
    ErrorSpec("policy_bundle.invalid", _INPUT, 422, "The policy bundle is not valid", _READ_SCHEMA),
    ErrorSpec("policy_input.invalid", _INPUT, 422, "The policy input is not valid", _READ_SCHEMA),
    ErrorSpec("context_pack.invalid", _INPUT, 422, "The Context Pack is not valid", _READ_SCHEMA),
    ErrorSpec("skill.invalid", _INPUT, 422, "The skill is not valid", _READ_SCHEMA),
    ErrorSpec("plan.invalid", _INPUT, 422, "The plan can't be read", _READ_SCHEMA),
)


@cache
def published_schema(name: str) -> Mapping[str, Any]:
    """The schema served as `/schemas/<name>.v1.schema.json`."""
    return loads_object((_FOLDER / f"{name}.v1.schema.json").read_bytes())


def schema_problems(document: Any, name: str) -> tuple[Problem, ...]:
    """What the published schema has to say against a document."""
    validator = compile_schema(published_schema(name), imported=False)
    return validator.errors(document)


def canonical_problems(document: Any) -> tuple[Problem, ...]:
    """What keeps a document from being hashed, and so from being signed and published."""
    try:
        canonicalise(document)
    except ContextOSError as error:
        return (Problem(str(error.data.get("pointer", "")), error.message, "json"),)
    return ()


def refusal(code: str, problems: Iterable[Problem]) -> ContextOSError:
    """The error that names every fault; the first one stands in its message."""
    listed = tuple(problems)
    first = listed[0]
    place = first.pointer or "the top"
    return coded_error(
        code,
        message=f"At {place}: {first.message}",
        data={"problems": [{"pointer": p.pointer, "message": p.message} for p in listed]},
    )
