"""Request bodies, checked against their schemas before anything looks at them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from rest_framework.request import Request

from contextos.core import strict_json
from contextos.core.errors import coded_error
from registry.validation import Validator, compile_schema

_FOLDER = Path(__file__).resolve().parent / "requests"


@cache
def _validator(name: str) -> Validator:
    return compile_schema(body_schema(name), imported=False)


def body_schema(name: str) -> dict[str, Any]:
    """The schema of a body, for those who describe it."""
    return dict(strict_json.loads_object((_FOLDER / f"{name}.json").read_bytes()))


def checked_body(request: Request, name: str) -> dict[str, Any]:
    """The body, if it is an object of the named shape; every fault is named with its place."""
    return checked(request.data, name)


def checked(body: Any, name: str) -> dict[str, Any]:
    """The same of a body that was read already."""
    problems = _validator(name).errors(body)
    if problems:
        first = problems[0]
        place = first.pointer or "the body"
        raise coded_error(
            "request.invalid",
            message=f"{place}: {first.message}",
            data={
                "problems": [{"pointer": p.pointer, "message": p.message} for p in problems[:10]]
            },
        )
    return dict(body)
