"""Argument constraints of manifests, permissions and policy: min, max, enum, pattern, required.

Bounds are inclusive. A value of the wrong type violates its constraint; an absent one violates only
`required`. A pattern is searched for, as in JSON Schema, in linear time, and `$` matches the very
end only. A path is a member of the arguments, or names joined by dots (`customer.tier`, `items.0`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from contextos.core.canonical import MAX_SAFE_INTEGER
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import escape, walk
from registry.schema_explain import show
from registry.validation import Problem, Validator, compile_schema

KEYWORDS = ("required", "min", "max", "enum", "pattern")
Constraint = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """One argument that breaks one keyword of its constraint."""

    path: str
    keyword: str
    message: str


class _Absent:
    """Marks an argument that was not given, which null is not."""


ABSENT = _Absent()


def check_args(
    args: Mapping[str, Any], constraints: Mapping[str, Any], *, mask: bool = False
) -> tuple[Violation, ...]:
    """Every violation, in the order of the constraints; with `mask` messages hold no values."""
    return tuple(
        violation
        for path, constraint in constraints.items()
        for violation in check_value(path, look_up(args, path), constraint, mask=mask)
    )


def look_up(args: Mapping[str, Any], path: str) -> Any:
    """The argument a path leads to, or `ABSENT`; a member of that very name comes first."""
    if path in args:
        return args[path]
    place: Any = args
    for step in path.split("."):
        if isinstance(place, Mapping) and step in place:
            place = place[step]
        elif isinstance(place, list) and _is_index(step) and int(step) < len(place):
            place = place[int(step)]
        else:
            return ABSENT
    return place


def check_value(
    path: str, value: Any, constraint: Any, *, mask: bool = False
) -> tuple[Violation, ...]:
    """The violations of one value; a constraint that can't be read is one of them."""
    if not isinstance(constraint, Mapping):
        message = f"The constraint on {show(path)} is not an object, so nothing can satisfy it."
        return (Violation(path, "constraint", message),)
    if isinstance(value, _Absent):
        return tuple(_missing(path, constraint))
    return tuple(
        Violation(path, keyword, f"{_shown(path, value, mask=mask)} {complaint}.")
        for keyword, complaint in _complaints(value, constraint)
    )


def _shown(path: str, value: Any, *, mask: bool) -> str:
    return f"The value of {show(path)}" if mask else f"{show(path)} is {show(value)}, which"


def is_satisfied(args: Mapping[str, Any], constraints: Mapping[str, Any]) -> bool:
    """Whether every argument named is present and within its constraint."""
    return all(
        not isinstance(value := look_up(args, path), _Absent)
        and not check_value(path, value, constraint)
        for path, constraint in constraints.items()
    )


def unsafe_integer(value: Any) -> str | None:
    """The pointer to the first integer beyond 2^53, which JSON readers disagree about."""
    for pointer, item in walk(value):
        if isinstance(item, int) and not isinstance(item, bool) and abs(item) > MAX_SAFE_INTEGER:
            return pointer
    return None


# -- one value -----------------------------------------------------------------------------------


def _missing(path: str, constraint: Constraint) -> Iterator[Violation]:
    required = constraint.get("required", False)
    if required is not False:
        yield Violation(path, "required", f"{show(path)} is missing and is required.")


def _complaints(value: Any, constraint: Constraint) -> Iterator[tuple[str, str]]:
    if constraint.get("required", False) not in (True, False):
        yield "required", "can't be judged: `required` is neither true nor false"
    if "min" in constraint or "max" in constraint:
        yield from _bound_complaints(value, constraint)
    if "enum" in constraint:
        yield from _enum_complaints(value, constraint["enum"])
    if "pattern" in constraint:
        yield from _pattern_complaints(value, constraint["pattern"])


def _bound_complaints(value: Any, constraint: Constraint) -> Iterator[tuple[str, str]]:
    keyword = "min" if "min" in constraint else "max"
    if not is_number(value):
        yield keyword, "is not a number"
        return
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        yield keyword, "lies beyond 2^53"
        return
    if "min" in constraint:
        low = constraint["min"]
        if not is_number(low):
            yield "min", "can't be judged: `min` is not a number"
        elif value < low:
            yield "min", f"is less than {show(low)}"
    if "max" in constraint:
        high = constraint["max"]
        if not is_number(high):
            yield "max", "can't be judged: `max` is not a number"
        elif value > high:
            yield "max", f"is greater than {show(high)}"


def _enum_complaints(value: Any, allowed: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(allowed, list | tuple):
        yield "enum", "can't be judged: `enum` is not a list"
    elif not any(same_json(value, item) for item in allowed):
        yield "enum", f"is not one of {show(list(allowed))}"


def _pattern_complaints(value: Any, pattern: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, str):
        yield "pattern", "is not a string"
        return
    for expression in pattern if isinstance(pattern, list | tuple) else (pattern,):
        validator = _pattern_validator(expression) if isinstance(expression, str) else None
        if validator is None:
            yield "pattern", "can't be judged: `pattern` is not a usable regular expression"
        elif not validator.is_valid(value):
            yield "pattern", f"does not match the pattern {show(expression)}"


@lru_cache(maxsize=1024)
def _pattern_validator(pattern: str) -> Validator | None:
    try:
        return compile_schema({"pattern": pattern})
    except ContextOSError:
        return None


def _is_index(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) <= 9


def is_number(value: Any) -> bool:
    """Whether a value is a JSON number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_json(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 is 1.0, but true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    return bool(one == other)


# -- many constraints ----------------------------------------------------------------------------


def merge(sources: Iterable[Mapping[str, Constraint]]) -> dict[str, dict[str, Any]]:
    """All constraints at once: on each path the tightest bounds, and every pattern."""
    merged: dict[str, dict[str, Any]] = {}
    for source in sources:
        for path, constraint in source.items():
            _tighten(merged.setdefault(path, {}), constraint)
    return {path: merged[path] for path in sorted(merged)}


def _tighten(into: dict[str, Any], constraint: Constraint) -> None:
    if constraint.get("required") is True:
        into["required"] = True
    for keyword, choose in (("min", max), ("max", min)):
        if keyword in constraint:
            bound = constraint[keyword]
            into[keyword] = choose(into[keyword], bound) if keyword in into else bound
    if "enum" in constraint:
        into["enum"] = _common(into.get("enum"), constraint["enum"])
    if "pattern" in constraint:
        into["pattern"] = _all_patterns(into.get("pattern"), constraint["pattern"])


def _common(known: list[Any] | None, further: list[Any]) -> list[Any]:
    if known is None:
        return list(further)
    return [item for item in known if any(same_json(item, other) for other in further)]


def _all_patterns(known: Any, further: Any) -> str | list[str]:
    texts = {text for source in (known, further) for text in _as_list(source)}
    return sorted(texts) if len(texts) > 1 else texts.pop()


def _as_list(patterns: Any) -> list[str]:
    if patterns is None:
        return []
    return [patterns] if isinstance(patterns, str) else list(patterns)


def contradictions(constraints: Mapping[str, Constraint]) -> tuple[str, ...]:
    """The paths on which no value can satisfy the constraint."""
    return tuple(path for path, constraint in constraints.items() if _is_empty(constraint))


def _is_empty(constraint: Constraint) -> bool:
    low, high = constraint.get("min"), constraint.get("max")
    if low is not None and high is not None and low > high:
        return True
    choices = constraint.get("enum")
    if choices is None:
        return False
    return not any(not tuple(_complaints(choice, constraint)) for choice in choices)


# -- publication ---------------------------------------------------------------------------------


def constraint_problems(constraints: Mapping[str, Any], pointer: str) -> tuple[Problem, ...]:
    """What the schema can't see: unusable patterns, and bounds that admit nothing."""
    found: list[Problem] = []
    for path, constraint in constraints.items():
        place = f"{pointer}/{escape(path)}"
        unusable = [p for p in _as_list(constraint.get("pattern")) if _pattern_validator(p) is None]
        if unusable:
            message = f"The pattern {show(unusable[0])} can't be run in linear time."
            found.append(Problem(f"{place}/pattern", message, "pattern"))
        elif _is_empty(constraint):
            message = f"No value can satisfy the constraint on {show(path)}."
            found.append(Problem(place, message, "constraint"))
    return tuple(found)
